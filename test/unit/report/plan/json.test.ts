import { describe, expect, test } from 'vitest';
import { safeStringify } from '../../../../src/lib/json/json.ts';
import { PLAN } from '../../../../src/report/json/plan-result.ts';
import { planJson } from '../../../../src/report/plan/json.ts';
import { faultsOf } from '../../../helpers/docs/json-schema.ts';
import { RESULTS, tenants } from './results.ts';

describe('JSON of a plan', () => {
  test.each(RESULTS)('%s: has every member of its schema, and no other', (_name, of) => {
    expect(faultsOf(PLAN.json, JSON.parse(safeStringify(planJson(of()))))).toEqual([]);
  });

  test('has the members that scripts use', () => {
    const { command, documents, candidates, recommendation } = planJson(tenants());
    expect({ command, documents, recommendation: recommendation.action }).toEqual({
      command: 'plan',
      documents: 31_400_000,
      recommendation: 'migrate',
    });
    const [present, other] = candidates;
    expect(present).toMatchObject({
      key: '/tenantId',
      current: true,
      missing: 0,
      distinct: { estimate: 400 },
    });
    expect(present?.largest[0]).toMatchObject({
      value: 'Contoso Retail (Tenant A)',
      share: expect.any(Number),
    });
    expect(other?.collisions).toEqual({
      documents: 0,
      low: 0,
      high: 0,
      exact: false,
      known: true,
      examples: [],
    });
    expect(other?.verdict.gains.map(({ code }) => code)).toContain('even-storage');
  });
});
