module holdfast.example/client

go 1.19
