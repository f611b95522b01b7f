-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.GET: a tenant's totals; used includes held.
--
-- KEYS[1] quota:tenant:T:used   integer: committed and held together
-- KEYS[2] quota:tenant:T:limit  integer
-- KEYS[3] quota:tenant:T:held   integer
-- KEYS[4] quota:tenant:T:holds  hash: hold to "amount ttl_ms"
-- KEYS[5] quota:tenant:T:due    sorted set, holds by deadline
-- Reply   {used, limit, held}
-- uses: clock common quota

if not tenant_is_current(now_ms()) then
    return again()
end
return {figures()}
