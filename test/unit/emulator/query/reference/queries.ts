/** Random small documents, and random queries about them as trees and as text. */
import * as fc from 'fast-check';
import { NOTHING, type Node, type Query, type Value } from './meaning.ts';

const NAMES = ['a', 'b', 'odd name'];
const DATES = ['2020-01-31T23:30:00.5000000Z', '2019-02-28T00:00:00.0000000Z'];
const number = fc.constantFrom(0, 1, 2, -1, 0.5, 10);
const words = fc.constantFrom('', 'a', 'ab', 'b_', 'A%', '[a', ...DATES);
const plain = fc.oneof(fc.constant(null), fc.boolean(), number, words);
const { data } = fc.letrec<{ data: unknown }>((tie) => ({
  data: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    plain,
    fc.array(tie('data'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('data'), { maxKeys: 3 }),
  ),
}));

/** Each property mostly has one type, may have any, and may be missing. */
const mostly = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { arbitrary: value, weight: 6 },
    { arbitrary: data, weight: 1 },
    { arbitrary: fc.constant(NOTHING), weight: 1 },
  );

const document = fc
  .record({
    a: mostly(number),
    b: mostly(words),
    list: mostly(fc.array(data, { maxLength: 3 })),
    'odd name': mostly(data),
  })
  .map((record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== NOTHING)));

export const documents = fc
  .array(document, { minLength: 1, maxLength: 6 })
  .map((items) => items.map((item, index) => ({ ...item, id: `d${index}` })));

const PATTERNS = ['%', '', 'a%', '_', '%b%', 'a_', '!%%', '%!_', '[ab]%', '[^a]%', '%[%]', '!['];
const CHECKS = [
  'IS_DEFINED',
  'IS_NULL',
  'IS_PRIMITIVE',
  'IS_BOOL',
  'IS_NUMBER',
  'IS_STRING',
  'IS_ARRAY',
  'IS_OBJECT',
];
const COMPARISONS = ['=', '!=', '<', '<=', '>', '>='];

type Expressions = fc.Arbitrary<Node>;

function path(roots: readonly string[], ...steps: readonly (string | number)[]): Expressions {
  return fc.constantFrom(...roots).map((root): Node => ({ is: 'path', root, steps }));
}

function anyPath(roots: readonly string[]): Expressions {
  const step = fc.constantFrom<string | number>('a', 'b', 'odd name', 'list', 0, 1);
  return fc
    .tuple(fc.constantFrom(...roots), fc.array(step, { maxLength: 2 }))
    .map(([root, steps]): Node => ({ is: 'path', root, steps }));
}

function literal(value: fc.Arbitrary<unknown>): Expressions {
  return value.map((inner): Node => ({ is: 'literal', value: inner as Value }));
}

function infix(ops: readonly string[], left: Expressions, right: Expressions): Expressions {
  return fc
    .tuple(fc.constantFrom(...ops), left, right)
    .map(([op, one, other]): Node => ({ is: 'infix', op, left: one, right: other }));
}

function call(names: readonly string[], ...args: readonly Expressions[]): Expressions {
  return fc
    .tuple(fc.constantFrom(...names), fc.tuple(...args))
    .map(([name, values]): Node => ({ is: 'call', name, args: values }));
}

/** Expressions over the names of the sources, by the type that they mostly have. */
interface Typed {
  readonly boolean: Expressions;
  readonly number: Expressions;
  readonly text: Expressions;
  readonly array: Expressions;
  readonly any: Expressions;
}

function typed(roots: readonly string[], depth: number): Typed {
  const ofType = (main: Expressions, ...more: readonly Expressions[]): Expressions =>
    fc.oneof(
      { arbitrary: main, weight: 6 + 3 * more.length },
      ...more.map((arbitrary) => ({ arbitrary, weight: 6 })),
      {
        arbitrary: literal(fc.constant(NOTHING)),
        weight: 1,
      },
      { arbitrary: anyPath(roots), weight: 2 },
    );
  const leaves: Typed = {
    boolean: ofType(literal(fc.boolean())),
    number: ofType(literal(number), path(roots, 'a')),
    text: ofType(literal(words), path(roots, 'b')),
    array: ofType(path(roots, 'list'), literal(fc.constant([]))),
    any: fc.oneof(literal(plain), anyPath(roots), path(roots, 'a'), path(roots, 'odd name')),
  };
  if (depth === 0) return leaves;
  const part = typed(roots, depth - 1);
  const date = fc.oneof({ arbitrary: literal(fc.constantFrom(...DATES)), weight: 5 }, part.text);
  const datePart = literal(fc.constantFrom('dd', 'hh', 'mm', 'yyyy', 'week'));
  const flat = literal(fc.oneof(plain, fc.dictionary(fc.constantFrom(...NAMES), plain, { maxKeys: 2 })));
  const choice = (of: Expressions): Expressions =>
    fc.oneof(
      fc.tuple(part.boolean, of, of).map(([test, yes, no]): Node => ({ is: 'if', test, yes, no })),
      call(['IIF'], part.boolean, of, of),
      infix(['??'], of, of),
    );
  const between = (of: Expressions): Expressions =>
    fc
      .tuple(of, of, of, fc.boolean())
      .map(([value, low, high, negated]): Node => ({ is: 'between', of: value, low, high, negated }));
  const isIn = fc
    .tuple(part.any, fc.array(part.any, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([of, list, negated]): Node => ({ is: 'in', of, list, negated }));
  const like = fc
    .tuple(part.text, fc.constantFrom(...PATTERNS), fc.boolean())
    .map(([of, pattern, negated]): Node => ({ is: 'like', of, pattern, negated }));
  const { exists, array, value } = subqueries(roots, depth);
  const entries = fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), part.any), {
    selector: ([name]) => name,
    maxLength: 3,
  });
  const boolean = fc.oneof(
    leaves.boolean,
    infix(COMPARISONS, part.number, part.number),
    infix(COMPARISONS, part.text, part.text),
    infix(COMPARISONS, part.any, part.any),
    infix(COMPARISONS, literal(plain), literal(plain)),
    infix(['AND', 'OR'], part.boolean, part.boolean),
    part.boolean.map((of): Node => ({ is: 'not', of })),
    isIn,
    fc.oneof(between(part.number), between(part.any)),
    like,
    call(CHECKS, part.any),
    call(['STARTSWITH', 'CONTAINS'], part.text, part.text),
    call(['ARRAY_CONTAINS'], part.array, part.any),
    call(['ARRAY_CONTAINS'], part.array, flat, literal(fc.boolean())),
    exists,
  );
  const numeric = fc.oneof(
    leaves.number,
    infix(['+', '-', '*', '/', '%'], part.number, part.number),
    call(['ABS', 'FLOOR'], part.number),
    call(['LENGTH'], part.text),
    call(['ARRAY_LENGTH'], part.array),
    call(['DateTimeDiff'], datePart, date, date),
    choice(part.number),
    value,
  );
  const text = fc.oneof(
    leaves.text,
    infix(['||'], part.text, part.text),
    call(['UPPER'], part.text),
    call(['DateTimeAdd'], datePart, literal(fc.integer({ min: -30, max: 30 })), date),
    choice(part.text),
  );
  const made = fc.oneof(
    fc.array(part.any, { maxLength: 3 }).map((items): Node => ({ is: 'array', items })),
    entries.map((members): Node => ({ is: 'object', entries: members })),
  );
  return {
    boolean,
    number: numeric,
    text,
    array: fc.oneof(leaves.array, array),
    any: fc.oneof(leaves.any, boolean, numeric, text, made, array, choice(part.any)),
  };
}

const aggregateName = fc.constantFrom('COUNT', 'SUM', 'MIN', 'MAX', 'AVG');

function aggregate(of: Expressions): Expressions {
  return fc.tuple(aggregateName, of).map(([name, inner]): Node => ({ is: 'aggregate', name, of: inner }));
}

/** Subqueries over the items of an array, which is a part of what the names around it stand for. */
function subqueries(
  roots: readonly string[],
  depth: number,
): Record<'exists' | 'array' | 'value', Expressions> {
  const name = `x${depth}`;
  const inside = typed([name, ...roots], Math.min(1, depth - 1));
  const made = (form: 'EXISTS' | 'ARRAY' | '', select: Expressions): Expressions =>
    fc
      .tuple(
        select,
        fc.oneof(path(roots, 'list'), anyPath(roots)),
        fc.option(inside.boolean, { nil: undefined, freq: 1 }),
      )
      .map(([selected, items, where]): Node => {
        const query = {
          distinct: false,
          select: selected,
          from: { name, items },
          joins: [],
          where,
          groupBy: [],
          orderBy: [],
        };
        return { is: 'subquery', form, query };
      });
  const each = fc.oneof(path([name]), inside.any);
  return {
    exists: made('EXISTS', each),
    array: made('ARRAY', each),
    value: made('', aggregate(fc.oneof(path([name]), inside.number, inside.any))),
  };
}

type Joins = Query['joins'];

function joinsOf(count: number): fc.Arbitrary<Joins> {
  const arrays = fc.array(fc.oneof(path(['c'], 'list'), path(['c'], 'odd name')), {
    minLength: count,
    maxLength: count,
  });
  return arrays.map((items) => items.map((array, index): readonly [string, Node] => [`j${index}`, array]));
}

function named(...parts: readonly Expressions[]): fc.Arbitrary<readonly (readonly [string, Node])[]> {
  return fc
    .tuple(...parts)
    .map((nodes) => nodes.map((node, index): readonly [string, Node] => [`p${index}`, node]));
}

/** Queries with so many joins: of rows, in an order, of different results, of groups, and of aggregates of all rows. */
function queriesWith(joins: number): fc.Arbitrary<Query> {
  const roots = ['c', ...['j0', 'j1'].slice(0, joins)];
  const of = typed(roots, 2);
  const item = fc.oneof(of.any, anyPath(roots));
  const total = aggregate(fc.oneof(path(['c'], 'a'), of.number, of.any));
  const base = {
    distinct: fc.constant(false),
    from: fc.constant({ name: 'c' }),
    joins: joinsOf(joins),
    where: fc.option(of.boolean, { nil: undefined, freq: 1 }),
    groupBy: fc.constant<Query['groupBy']>([]),
    orderBy: fc.constant<Query['orderBy']>([]),
    slice: fc.constant(undefined),
  };
  const slice = fc.option(fc.tuple(fc.nat(1), fc.nat(5)), { nil: undefined, freq: 1 });
  const key = fc.oneof(path(['c'], 'a'), path(['c'], 'b'), path(['c'], 'odd name'), path(['c'], 'list', 0));
  const ID: Node = { is: 'path', root: 'c', steps: ['id'] };
  const orderBy = fc.tuple(key, fc.boolean()).map((first) => [first, [ID, false]] as const);
  const groups = fc.array(fc.oneof(key, anyPath(roots)), { minLength: 1, maxLength: 2 });
  return fc.oneof(
    fc.record({ ...base, select: fc.oneof(item, named(item, item)), slice }),
    fc.record({ ...base, select: fc.oneof(item, named(item, item)), orderBy, slice }),
    fc.record({ ...base, select: fc.oneof(item, named(item)), distinct: fc.constant(true) }),
    fc.record({ ...base, select: fc.oneof(total, named(total, total)) }),
    fc
      .record({ ...base, groupBy: groups, totals: fc.array(total, { maxLength: 2 }) })
      .map(({ totals, ...query }) => ({
        ...query,
        select: [...query.groupBy, ...totals].map((node, index): readonly [string, Node] => [
          `p${index}`,
          node,
        ]),
      })),
  );
}

export const queries: fc.Arbitrary<Query> = fc.oneof(
  { arbitrary: queriesWith(0), weight: 3 },
  { arbitrary: queriesWith(1), weight: 2 },
  queriesWith(2),
);

/** The query as text, with brackets around everything. */
export function queryText({
  distinct,
  select,
  from,
  joins: joined,
  where,
  groupBy,
  orderBy,
  slice,
}: Query): string {
  const selected = Array.isArray(select)
    ? (select as readonly (readonly [string, Node])[])
        .map(([name, node]) => `${text(node)} AS ${name}`)
        .join(', ')
    : `VALUE ${text(select as Node)}`;
  return [
    `SELECT ${distinct ? 'DISTINCT ' : ''}${selected} FROM ${from.items === undefined ? from.name : `${from.name} IN ${text(from.items)}`}`,
    ...joined.map(([name, items]) => `JOIN ${name} IN ${text(items)}`),
    ...(where === undefined ? [] : [`WHERE ${text(where)}`]),
    ...(groupBy.length === 0 ? [] : [`GROUP BY ${groupBy.map(text).join(', ')}`]),
    ...(orderBy.length === 0
      ? []
      : [
          `ORDER BY ${orderBy.map(([key, descending]) => `${text(key)}${descending ? ' DESC' : ''}`).join(', ')}`,
        ]),
    ...(slice === undefined ? [] : [`OFFSET ${slice[0]} LIMIT ${slice[1]}`]),
  ].join(' ');
}

function text(node: Node): string {
  switch (node.is) {
    case 'literal':
      return node.value === NOTHING ? 'undefined' : JSON.stringify(node.value);
    case 'path':
      return node.root + node.steps.map((step) => `[${JSON.stringify(step)}]`).join('');
    case 'infix':
      return `(${text(node.left)} ${node.op} ${text(node.right)})`;
    case 'not':
      return `(NOT ${text(node.of)})`;
    case 'if':
      return `(${text(node.test)} ? ${text(node.yes)} : ${text(node.no)})`;
    case 'in':
      return `(${text(node.of)}${node.negated ? ' NOT' : ''} IN (${node.list.map(text).join(', ')}))`;
    case 'between':
      return `(${text(node.of)}${node.negated ? ' NOT' : ''} BETWEEN ${text(node.low)} AND ${text(node.high)})`;
    case 'like':
      return `(${text(node.of)}${node.negated ? ' NOT' : ''} LIKE ${JSON.stringify(node.pattern)} ESCAPE "!")`;
    case 'array':
      return `[${node.items.map(text).join(', ')}]`;
    case 'object':
      return `{${node.entries.map(([name, inner]) => `${JSON.stringify(name)}: ${text(inner)}`).join(', ')}}`;
    case 'call':
    case 'aggregate':
      return `${node.name}(${(node.is === 'call' ? node.args : [node.of]).map(text).join(', ')})`;
    case 'subquery':
      return `${node.form}(${queryText(node.query)})`;
  }
}
