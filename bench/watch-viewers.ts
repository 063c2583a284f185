/**
 * Opens viewers of a live page and reads what they receive: `node watch-viewers.js URL N`. Prints a line when all are
 * open.
 */
import { request } from 'node:http';

const [url = '', count = '0'] = process.argv.slice(2);
let open = 0;
for (let n = 0; n < Number(count); n += 1) {
  request(new URL('events', url), (response) => {
    response.resume();
    open += 1;
    if (open === Number(count)) console.log('open');
  }).end();
}
