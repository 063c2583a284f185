import { describe, expect, test } from 'vitest';
import { printable } from '../../../../src/lib/json/printable.ts';
import { planText } from '../../../../src/report/plan/text.ts';
import { columnsOf } from '../../../../src/report/width.ts';
import { attacked, RESULTS, tenants } from './results.ts';

describe('text of a plan', () => {
  test.each(RESULTS)('%s: no line is wider than 80 columns or ends in a space', (_name, of) => {
    const lines = planText(of(), { page: 'plan.html', config: null }).split('\n');
    expect(lines.filter((line) => columnsOf(line) > 80 || line !== line.trimEnd())).toEqual([]);
  });

  test('the advice, the table and the findings', () => {
    expect(planText(tenants(), { page: 'plan.html', config: null })).toMatchInlineSnapshot(`
      "source      shop/orders; key /tenantId; 31,400,000 documents, 35.1 GB; autoscale
                  up to 40,000 RU/s
      basis       all 31,400,000 documents were read

      Migrate to /tenantId,/userId.
      - The value Contoso Retail (Tenant A) reaches 20 GB on 2027-02-26 with the
        present key, and its writes are refused from then on
      - The biggest value of /tenantId,/userId has 0.3 % of all documents, and no
        value reaches 14 GB within 12 months
      - Queries that name only the tenant stay on the partitions of that tenant, since
        it is the prefix of the key
      What would change this:
      - Contoso Retail (Tenant A) leaves, or its data is deleted after some months
      - Queries that name neither tenant nor user become more than a tenth

                               values   biggest   share fullest   RU/s fan-out $/month
      now /tenantId               400   15.0 GB    27 %   2.7 ×  4,460   0.2 %   2,336
      1   /tenantId,/userId     412 k    148 MB   0.3 %   1.1 ×  4,460   0.2 %   1,752
      2   /status                   5   32.9 GB    59 %   5.7 ×  5,428  99.8 %   1,752
      3   /pk={tenan…|month}   14,120    5.4 GB   9.7 %   1.4 ×  4,460    42 %   1,752

      biggest: the value with the most bytes, and its share of all documents. fullest:
      how many times the average the fullest partition has. RU/s: writes of the
      hottest value, at least; as the change feed showed it for 600 s, or averaged
      over the last hour, with one write per document, if that is more. fan-out:
      queries that ask every partition.

      now /tenantId  (present key)
        Contoso Retail (Tenant A)  ███████████                15.0 GB         27 %
        tenant-0001                █████                       6.3 GB         11 %
        tenant-0002                ███                         3.8 GB        6.8 %
        RISK      The value Contoso Retail (Tenant A) reaches 20 GB on 2027-02-26
                  [Microsoft's page of service quotas (SVC-7)]
        RISK      29 % of all documents have the value Contoso Retail (Tenant A) [a
                  tenth: one partition of ten]
        RISK      The hottest value needs 7,300 RU/s, and a partition has 6,667
                  [Microsoft's page of service quotas (SVC-7)]

      1   /tenantId,/userId  (recommended)
        proposed  /tenantId is skewed, and nearly every query names /userId as well
        ["Contoso Retail …-70000"] ░                           148 MB        0.3 %
        ["Contoso Retail …-70037"] ░                           120 MB        0.2 %
        ["Contoso Retail …-70074"] ░                           106 MB        0.2 %
        GAIN      The biggest value has 0.3 % of all documents instead of 29 % [a
                  tenth: one partition of ten]
        GAIN      The hottest value gets 0.3 % of the last hour's writes instead of
                  29 % [a quarter of all writes to one partition]
        GAIN      584 dollars less a month [prices of November 2026, West Europe]
        migration 1.6 h with 40,000 RU/s; $61.40

      2   /status
        delivered                  ████████████████████████   32.9 GB         59 %
        paid                       ████████                   10.9 GB         20 %
        open                       ████                        5.7 GB         10 %
        BLOCKER   The value delivered has 32.4 GB [Microsoft's page of service quotas
                  (SVC-7)]
        RISK      The key has only 5 values [Microsoft's page of synthetic partition
                  keys]
        RISK      41 % of all updates would move their document [a move costs two
                  writes]
        RISK      99 % of all queries ask every partition [the threshold of Azure's
                  account dashboard]

      3   /pk={tenantId}-{createdAt|month}
        proposed  a time bucket for /tenantId, which is the best single path and
                  skewed
        Contoso Retail (T…-2026-01 ████                        5.4 GB        9.7 %
        Contoso Retail (T…-2026-02 ██                          2.9 GB        5.2 %
        Contoso Retail (T…-2026-03 █                           2.0 GB        3.6 %
        RISK      34 % of the last hour's writes went to the value Contoso Retail
                  (Tenant A)-2026-11 [a quarter of all writes to one partition]
        RISK      42 % of all queries ask every partition [the threshold of Azure's
                  account dashboard]
        GAIN      The biggest value has 7 % of all documents instead of 29 % [a tenth:
                  one partition of ten]

      queries     4 query shapes with 5,351,200 executions from queries-2026-11.csv
                  queries of the portal are left out

      note        bytes are those of the documents; the service counts the index as
                  well, which adds about 12 %

      report      plan.html
      config      --write-config 1 writes cosmig.config.yaml for /tenantId,/userId"
    `);
  });

  test('texts of documents cannot control the terminal or look like a line of their own', () => {
    const text = planText(attacked(), { page: null, config: null });
    expect(text).toBe(printable(text));
    expect(text).not.toMatch(/^evil/m);
    expect(text).toContain(String.raw`\u202eevil\u2066`);
  });
});
