/** Which format of metrics a client gets. */
import { expect, test } from 'vitest';
import { metricsFormatFor } from '../../../src/watch/accept.ts';

const OPEN = 'application/openmetrics-text';

test.each([
  [
    'Prometheus 2.42',
    `${OPEN};version=1.0.0,${OPEN};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`,
    'openmetrics',
  ],
  [
    'Prometheus 3',
    `${OPEN};version=1.0.0;escaping=allow-utf-8;q=0.5,${OPEN};version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1`,
    'openmetrics',
  ],
  ['its name alone', OPEN, 'openmetrics'],
  ['quotes, blanks and capitals', ` ${OPEN.toUpperCase()} ; Version="1.0.0" ; q=1 `, 'openmetrics'],
  ['no header', undefined, 'prometheus'],
  ['anything', '*/*', 'prometheus'],
  ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'prometheus'],
  ['an old Prometheus', 'text/plain;version=0.0.4;q=1,*/*;q=0.1', 'prometheus'],
  ['another version', `${OPEN};version=0.0.1`, 'prometheus'],
  ['it refuses it', `${OPEN};q=0`, 'prometheus'],
  ['it prefers the other', `${OPEN};version=1.0.0;q=0.4,text/plain;version=0.0.4`, 'prometheus'],
  ['a quality of letters', `${OPEN};q=x`, 'prometheus'],
] as const)('%s -> %s', (_who, accept, format) => {
  expect(metricsFormatFor(accept)).toBe(format);
});
