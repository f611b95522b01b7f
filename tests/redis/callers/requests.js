// SPDX-License-Identifier: Apache-2.0
//
// Requests to a service, one JSON array of strings a line, the first its method; each is answered with
// one line of JSON.
'use strict';
const readline = require('node:readline');

exports.serve = async function serve(service, close) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [method, ...words] = JSON.parse(line);
    let answer;
    try {
      answer = await service[method](...words);
    } catch (error) {
      answer = { error: error.message };
    }
    console.log(JSON.stringify(answer));
  }
  await close();
};
