/**
 * The examples of Microsoft's documentation of the query language that carry data and a result, or need no data: each
 * query gives just that result. The data has the shape of the documents' with values of our own where theirs are long.
 * Where an example says that an expression has no value, its property is missing from the result.
 */
export interface Example {
  readonly query: string;
  readonly result: readonly unknown[];
}

export interface Examples {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly examples: readonly Example[];
}

/** Examples without data: an expression and its value; undefined if it has none. */
export const EXPRESSIONS: readonly (readonly [expression: string, value: unknown])[] = [
  ['ABS(-1)', 1],
  ['ARRAY_CONCAT(["apples", "strawberries"], ["bananas"])', ['apples', 'strawberries', 'bananas']],
  ['ARRAY_CONTAINS(["coats", "jackets", "sweatshirts"], "coats")', true],
  ['ARRAY_CONTAINS(["coats", "jackets", "sweatshirts"], "hoodies")', false],
  ['ARRAY_CONTAINS([{ category: "shirts", color: "blue" }], { category: "shirts", color: "blue" })', true],
  ['ARRAY_CONTAINS([{ category: "shirts", color: "blue" }], { category: "shirts" })', false],
  ['ARRAY_CONTAINS([{ category: "shirts", color: "blue" }], { category: "shirts" }, true)', true],
  [
    'ARRAY_CONTAINS([{ category: "shirts", color: "blue" }], { category: "shorts", color: "blue" }, true)',
    false,
  ],
  ['ARRAY_LENGTH([70, 86, 92, 99, 85, 90, 82])', 7],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], 1)', ['strawberries', 'bananas']],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], 1, 1)', ['strawberries']],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], -2, 1)', ['strawberries']],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], -2, 2)', ['strawberries', 'bananas']],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], 1, 0)', []],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], 1, 1000)', ['strawberries', 'bananas']],
  ['ARRAY_SLICE(["apples", "strawberries", "bananas"], 1, -100)', []],
  ['CHOOSE(0, "abc", 1, true, [1])', undefined],
  ['CHOOSE(1, "abc", 1, true, [1])', 'abc'],
  ['CHOOSE(4, "abc", 1, true, [1])', [1]],
  ['CHOOSE(5, "abc", 1, true, [1])', undefined],
  ['COUNT(2 + 3)', 1],
  ['DateTimeBin("2021-01-08T18:35:00.0000000", "dd")', '2021-01-08T00:00:00.0000000Z'],
  ['DateTimeBin("2021-01-08T18:35:00.0000000", "hh")', '2021-01-08T18:00:00.0000000Z'],
  ['DateTimeBin("2021-01-08T18:35:00.0000000", "ss")', '2021-01-08T18:35:00.0000000Z'],
  ['DateTimeBin("2021-01-08T18:35:00.0000000", "hh", 5)', '2021-01-08T15:00:00.0000000Z'],
  ['DateTimeBin("2021-01-08T18:35:00.0000000", "dd", 7)', '2021-01-07T00:00:00.0000000Z'],
  [
    'DateTimeBin("2021-01-08T18:35:00.0000000", "dd", 7, "1601-01-01T00:00:00.0000000")',
    '2021-01-04T00:00:00.0000000Z',
  ],
  ['DateTimeDiff("day", "2020-01-01T01:02:03.1234527Z", "2020-01-03T01:02:03.1234567Z")', 2],
  ['DateTimeDiff("yyyy", "2028-01-01T01:02:03.1234527Z", "2020-01-03T01:02:03.1234567Z")', -8],
  ['DateTimeDiff("hh", "2020-01-01T01:00:00.1234527Z", "2020-01-01T01:59:59.1234567Z")', 0],
  ['DateTimeDiff("mm", "2019-02-04T16:00:00.0000000", "2018-03-05T05:00:00.0000000")', -11],
  ['DateTimeDiff("hh", "2019-02-04T16:00:00.0000000", "2018-03-05T05:00:00.0000000")', -8075],
  ['DateTimeDiff("ss", "2018-03-05T05:00:00.0000000", "2019-02-04T16:00:00.0000000")', 29070000],
  // The document's own example of a part that does not exist.
  ['DateTimeDiff("diffDays", "2019-02-04T16:00:00.0000000", "2018-03-05T05:00:00.0000000")', undefined],
  ['EXISTS (SELECT VALUE undefined)', false],
  ['EXISTS (SELECT undefined)', true],
  ['INDEX_OF("AdventureWorks", "A")', 0],
  ['INDEX_OF("AdventureWorks", "s")', 13],
  ['INDEX_OF("AdventureWorks", "tureW")', 5],
  ['INDEX_OF("AdventureWorks", "Cosmos")', -1],
  ['INDEX_OF("AdventureWorks", "Works", 5)', 9],
  ['INDEX_OF("AdventureWorks", "Adventure", 5)', -1],
  ['INDEX_OF("AdventureWorks", "aD")', -1],
  ['IntBitLeftShift(16, 4)', 256],
  ['IntBitLeftShift(16, 0.4)', undefined],
  ['IntDiv(10, 2)', 5],
  ['IntDiv(10, -2)', -5],
  ['IntDiv(-10, -2)', 5],
  ['IntDiv(10, 0)', undefined],
  ['IntDiv(10, 0.1)', undefined],
  ['IntMod(12, 5)', 2],
  ['IntMod(12, -5)', 2],
  ['IntMod(-12, -5)', -2],
  ['IntMod(12, 0)', undefined],
  ['IntMod(12, 0.2)', undefined],
  ['IS_INTEGER(3454.123)', false],
  ['IS_INTEGER(5523432)', true],
  ['IS_INTEGER(-9223372036854775808)', true],
  ['IS_INTEGER(9223372036854775807)', true],
  ['IS_INTEGER(18446744073709551615)', false],
  ['NumberBin(37.752, -100)', 100],
  ['NumberBin(37.752, 10)', 30],
  ['NumberBin(37.752, 1)', 37],
  ['NumberBin(37.752, 0)', undefined],
  ['NumberBin(37.752, 0.1)', 37.7],
  ['NumberBin(37.752, 0.01)', 37.75],
  ['REPLICATE("Cosmic", 3)', 'CosmicCosmicCosmic'],
  ['REPLICATE("Cosmic", -1)', undefined],
  ['REPLICATE("Cosmic", 2000)', undefined],
  ['REVERSE("AdventureWorks")', 'skroWerutnevdA'],
  ['REVERSE(REVERSE("AdventureWorks"))', 'AdventureWorks'],
  ['ROUND(2.4)', 2],
  ['ROUND(2.6)', 3],
  ['ROUND(2.5)', 3],
  ['ROUND(-2.6)', -3],
  ['ROUND(-6.5000)', -7],
  ['ROUND(-0.5)', -1],
  ['SetIntersect([1, 2, 3, 4], [3, 4, 5, 6])', [3, 4]],
  ['SetIntersect([1, 2, 3, 4], [])', []],
  ['SetIntersect([1, 2, 3, 4], [1, 1, 1, 1])', [1]],
  ['SetIntersect([1, 2, 3, 4], ["A", "B"])', []],
  ['SetIntersect([1, 2, "A", "B"], ["A", 1])', ['A', 1]],
  ['SetUnion([1, 2, 3, 4], [3, 4, 5, 6])', [1, 2, 3, 4, 5, 6]],
  ['SetUnion([1, 2, 3, 4], [])', [1, 2, 3, 4]],
  ['SetUnion([1, 2, 3, 4], [1, 1, 1, 1])', [1, 2, 3, 4]],
  ['SetUnion([1, 2, "A", "B"], ["A", 1])', [1, 2, 'A', 'B']],
  ["StringToArray('[]')", []],
  [String.raw`StringToArray("[\"str\",2,3]")`, ['str', 2, 3]],
  [`StringToArray('[["5","6","7"],["8"],["9"]]')`, [['5', '6', '7'], ['8'], ['9']]],
  [`StringToArray('[1,2,3, "[4,5,6]",[7,8]]')`, [1, 2, 3, '[4,5,6]', [7, 8]]],
  [`StringToArray("['5','6','7']")`, undefined],
  ['StringToArray("[")', undefined],
  ['StringToArray("1")', undefined],
  ['StringToArray(false)', undefined],
  ['StringToBoolean("true")', true],
  ['StringToBoolean("    false")', false],
  ['StringToBoolean("false    ")', false],
  ['StringToBoolean("TRUE")', undefined],
  ['StringToBoolean("null")', undefined],
  ['StringToBoolean(true)', undefined],
  ['StringToNumber("100")', 100],
  ['StringToNumber("3.14")', 3.14],
  ['StringToNumber("   60   ")', 60],
  ['StringToNumber("-1.79769e+308")', -1.79769e308],
  ['StringToNumber("Hello")', undefined],
  ['StringSplit("Handlebar", "e")', ['Handl', 'bar']],
  ['StringSplit("CARBON_STEEL_BIKE_WHEEL", "_")', ['CARBON', 'STEEL', 'BIKE', 'WHEEL']],
  ['StringSplit("xenmoun mountain bike", "moun")', ['xen', ' ', 'tain bike']],
  ['StringSplit("AluminumBikeFrame", undefined)', undefined],
  ['StringSplit("Helmet", "")', ['Helmet']],
  ['StringSplit("", "")', ['']],
  ['SUBSTRING("AdventureWorks", 0, 9)', 'Adventure'],
  ['SUBSTRING("AdventureWorks", 9, 5)', 'Works'],
  ['SUBSTRING("AdventureWorks", 0, LENGTH("AdventureWorks"))', 'AdventureWorks'],
  ['SUBSTRING("AdventureWorks", 0, -1)', ''],
  ['ToString(125)', '125'],
  ['ToString(0.1234)', '0.1234'],
  ['ToString(false)', 'false'],
  ['ToString([ 1, 2, 3 ])', '[1,2,3]'],
  ['ToString({ "department": "Bicycles" })', '{"department":"Bicycles"}'],
  ['ToString("Hello World")', 'Hello World'],
  ['ToString(undefined)', undefined],
  ['0 = "true"', undefined],
  ['"20-30%" LIKE "20-30[%]"', true],
  ['"20-305" LIKE "20-30[%]"', false],
  ['"_n" LIKE "[_]n"', true],
  ['"an" LIKE "[_]n"', false],
  ['"]" LIKE "]"', true],
  ['"save 20% now" LIKE "%20^%%" ESCAPE "^"', true],
  ['"save 200 now" LIKE "%20^%%" ESCAPE "^"', false],
  ['"SOAPS" LIKE "%SO_PS%"', true],
  ['"SOuPS" LIKE "%SO[t-z]PS%"', true],
  ['"SOAPS" LIKE "%SO[t-z]PS%"', false],
  ['"SOaPS" LIKE "%SO[^abc]PS%"', false],
  // The truth tables of AND, OR and NOT.
  ['true OR undefined', true],
  ['false OR undefined', undefined],
  ['undefined OR undefined', undefined],
  ['true AND undefined', undefined],
  ['false AND undefined', false],
  ['NOT undefined', undefined],
];

const SURFBOARD = {
  id: 'surfboard',
  name: 'Teapo',
  manufacturer: { name: 'AdventureWorks' },
  releaseDate: null,
  metadata: {
    sku: '72109',
    colors: ['cruise', 'picton-blue'],
    sizes: { small: { inches: 76, feet: 6.33333 }, large: { inches: 92, feet: 7.66667 } },
  },
};

const BAGS = [
  {
    id: 'maresse',
    category: 'Bags',
    sku: '65503',
    tags: [
      { slug: 'shape-mummy', name: 'Mummy' },
      { slug: 'fill-down', name: 'Down' },
    ],
  },
  {
    id: 'vareno',
    category: 'Bags',
    sku: '65508',
    tags: [
      { slug: 'fill-synthetic', name: 'Synthetic' },
      { slug: 'color-yellow', name: 'Yellow' },
      { slug: 'shape-mummy', name: 'Mummy' },
    ],
  },
];

const FOOD = {
  id: '03226',
  description: 'dessert, fruit pudding',
  tags: [{ name: 'babyfood' }, { name: 'infant formula' }, { name: 'orange' }],
  nutrients: [
    { units: 'mg', nutritionValue: 5 },
    { units: 'mg', nutritionValue: 0 },
    { units: 'g', nutritionValue: 100 },
  ],
  servings: [{ amount: 1 }, { amount: 2 }],
};

const EMPLOYEES = [
  { id: '1', team: 'Cloud', capabilities: { language: 'c-sharp', media: true } },
  { id: '2', team: 'Cloud', capabilities: { language: 'javascript', media: true } },
  { id: '3', team: 'Cloud', capabilities: { language: 'javascript', media: true } },
  { id: '4', team: 'Cloud', capabilities: { language: 'javascript', media: false } },
  { id: '5', team: 'Cloud', capabilities: { media: true } },
  { id: '6', team: 'Other', capabilities: { language: 'python' } },
];

/** Examples with data. Each set is asked in a container of its own. */
export const WITH_DATA: readonly Examples[] = [
  {
    data: [SURFBOARD],
    examples: [
      {
        query: 'SELECT p.name, p.metadata.sku, p.sizes.small.inches AS size FROM products p',
        result: [{ name: 'Teapo', sku: '72109' }],
      },
      {
        query:
          'SELECT p.name, p.metadata.colors FROM products p WHERE p.metadata.colors[0] NOT LIKE "%orange%"',
        result: [{ name: 'Teapo', colors: ['cruise', 'picton-blue'] }],
      },
      {
        query: 'SELECT p.name, c AS color FROM products p JOIN c IN p.metadata.colors',
        result: [
          { name: 'Teapo', color: 'cruise' },
          { name: 'Teapo', color: 'picton-blue' },
        ],
      },
      {
        query:
          'SELECT VALUE p.name FROM products p WHERE EXISTS (SELECT VALUE c FROM c IN p.metadata.colors ' +
          'WHERE c LIKE "%picton%")',
        result: ['Teapo'],
      },
      {
        query:
          'SELECT IS_NULL(p.releaseDate) AS isNull, IS_DEFINED(p.releaseDate) AS isDefined, ' +
          'IS_NULL(p.retirementDate) AS isMissingNull, IS_DEFINED(p.retirementDate) AS isMissingDefined ' +
          'FROM products p',
        result: [{ isNull: true, isDefined: true, isMissingNull: false, isMissingDefined: false }],
      },
      {
        query:
          'SELECT p.manufacturer.name AS dot, p["manufacturer"]["name"] AS bracket, p.manufacturer["name"] AS mixed ' +
          'FROM products p',
        result: [{ dot: 'AdventureWorks', bracket: 'AdventureWorks', mixed: 'AdventureWorks' }],
      },
      {
        query: 'SELECT { "productName": p.name, "large": p.metadata.sizes.large.feet } FROM products p',
        result: [{ $1: { productName: 'Teapo', large: 7.66667 } }],
      },
      {
        query: `SELECT VALUE { "Product's name | ": p.name, "Model number => ": p.metadata.sku } FROM products p`,
        result: [{ "Product's name | ": 'Teapo', 'Model number => ': '72109' }],
      },
      { query: 'SELECT * FROM products p WHERE 0 = "true"', result: [] },
      { query: 'SELECT CHOOSE(3, p.id, p.name, p.metadata.sku) AS code FROM p', result: [{ code: '72109' }] },
    ],
  },
  {
    data: BAGS,
    examples: [
      {
        query: 'SELECT p.sku, t.name AS tag FROM products p JOIN t IN p.tags WHERE p.category = "Bags"',
        result: [
          { sku: '65503', tag: 'Mummy' },
          { sku: '65503', tag: 'Down' },
          { sku: '65508', tag: 'Synthetic' },
          { sku: '65508', tag: 'Yellow' },
          { sku: '65508', tag: 'Mummy' },
        ],
      },
      {
        query:
          'SELECT p.sku, t.name AS tag FROM products p JOIN t IN p.tags WHERE STARTSWITH(t.slug, "color-")',
        result: [{ sku: '65508', tag: 'Yellow' }],
      },
      {
        query:
          'SELECT p.sku, t.name AS tag FROM products p JOIN t IN p.tags WHERE p.category = "Bags" AND ' +
          't.slug = "shape-mummy"',
        result: [
          { sku: '65503', tag: 'Mummy' },
          { sku: '65508', tag: 'Mummy' },
        ],
      },
      {
        query: 'SELECT VALUE p.sku FROM p WHERE STARTSWITH(p.tags[0].slug, "fill-") OR p.tags[5].slug = "x"',
        result: ['65508'],
      },
      { query: 'SELECT * FROM Bags.sku', result: ['65503', '65508'] },
      { query: 'SELECT VALUE t.name FROM t IN Bags.tags WHERE t.slug = "fill-down"', result: ['Down'] },
    ],
  },
  {
    data: [FOOD],
    examples: [
      {
        query:
          'SELECT Count(1) AS Count FROM c JOIN t IN c.tags JOIN n IN c.nutrients JOIN s IN c.servings ' +
          "WHERE t.name = 'infant formula' AND (n.nutritionValue > 0 AND n.nutritionValue < 10) AND s.amount > 1",
        result: [{ Count: 1 }],
      },
      {
        query:
          "SELECT Count(1) AS Count FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t.name = 'infant formula') " +
          'JOIN (SELECT VALUE n FROM n IN c.nutrients WHERE n.nutritionValue > 0 AND n.nutritionValue < 10) ' +
          'JOIN (SELECT VALUE s FROM s IN c.servings WHERE s.amount > 1)',
        result: [{ Count: 1 }],
      },
      {
        query:
          'SELECT TOP 1000 c.id, average FROM c JOIN (SELECT VALUE avg(n.nutritionValue) FROM n IN c.nutrients) ' +
          'average WHERE average > 30',
        result: [{ id: '03226', average: 35 }],
      },
      {
        query:
          'SELECT c.id, m.average FROM c JOIN (SELECT AVG(n.nutritionValue) AS average FROM n IN c.nutrients) m ' +
          'WHERE m.average > 30',
        result: [{ id: '03226', average: 35 }],
      },
      {
        query:
          "SELECT TOP 10 n.nutritionValue, r.name FROM food JOIN n IN food.nutrients JOIN r IN (SELECT VALUE [{unit: 'ng', " +
          "name: 'nanogram', multiplier: 0.000000001}, {unit: 'mg', name: 'milligram'}, {unit: 'g', name: 'gram'}]) " +
          'WHERE n.units = r.unit',
        result: [
          { nutritionValue: 5, name: 'milligram' },
          { nutritionValue: 0, name: 'milligram' },
          { nutritionValue: 100, name: 'gram' },
        ],
      },
      { query: 'SELECT (SELECT VALUE 1) AS a, (SELECT VALUE 2) AS b', result: [{ a: 1, b: 2 }] },
      {
        query: "SELECT TOP 5 (SELECT VALUE Concat('id_', f.id)) AS id FROM food f",
        result: [{ id: 'id_03226' }],
      },
      {
        query:
          "SELECT TOP 5 f.id, Contains(f.description, 'fruit') = true ? f.description : undefined FROM food f",
        result: [{ id: '03226', $1: 'dessert, fruit pudding' }],
      },
      {
        query:
          "SELECT TOP 10 f.id, (SELECT f.description WHERE Contains(f.description, 'fruit')).description FROM food f",
        result: [{ id: '03226', description: 'dessert, fruit pudding' }],
      },
      {
        query:
          "SELECT TOP 5 f.id, (SELECT Count(1) AS count, Sum(n.nutritionValue) AS sum FROM n IN f.nutrients WHERE n.units = 'mg') " +
          'AS unit_mg FROM food f',
        result: [{ id: '03226', unit_mg: { count: 2, sum: 5 } }],
      },
      {
        query:
          "SELECT TOP 5 f.id, (SELECT VALUE Count(1) FROM n IN f.nutrients WHERE n.units = 'mg') AS mg FROM food f " +
          "WHERE (SELECT VALUE Count(1) FROM n IN f.nutrients WHERE n.units = 'mg') > 1",
        result: [{ id: '03226', mg: 2 }],
      },
      {
        query:
          "SELECT TOP 5 f.id, mg FROM food f JOIN (SELECT VALUE Count(1) FROM n IN f.nutrients WHERE n.units = 'mg') AS mg " +
          'WHERE mg > 1',
        result: [{ id: '03226', mg: 2 }],
      },
      {
        query: "SELECT VALUE f.id FROM food f WHERE ARRAY_CONTAINS(f.tags, {name: 'orange'})",
        result: ['03226'],
      },
      {
        query:
          'SELECT TOP 1 c.id, EXISTS(SELECT VALUE n FROM n IN c.nutrients WHERE n.units = "mg" AND n.nutritionValue > 0) ' +
          'as a FROM c',
        result: [{ id: '03226', a: true }],
      },
      {
        query:
          "SELECT TOP 1 c.id, ARRAY(SELECT VALUE t FROM t in c.tags WHERE t.name != 'infant formula') AS tagNames FROM c",
        result: [{ id: '03226', tagNames: [{ name: 'babyfood' }, { name: 'orange' }] }],
      },
      {
        query:
          'SELECT TOP 1 c.id, ARRAY(SELECT VALUE t.name FROM t in c.tags) as tagNames FROM c ' +
          "JOIN n IN (SELECT VALUE ARRAY(SELECT t FROM t in c.tags WHERE t.name != 'infant formula'))",
        result: [{ id: '03226', tagNames: ['babyfood', 'infant formula', 'orange'] }],
      },
    ],
  },
  {
    data: EMPLOYEES,
    examples: [
      {
        query:
          'SELECT e.capabilities.language AS lang FROM employees e WHERE e.team = "Cloud" GROUP BY e.capabilities.language',
        result: [{}, { lang: 'c-sharp' }, { lang: 'javascript' }],
      },
      {
        query:
          'SELECT COUNT(1) AS trained, e.capabilities.language AS lang FROM employees e WHERE e.team = "Cloud" ' +
          'GROUP BY e.capabilities.language',
        result: [{ trained: 1 }, { trained: 1, lang: 'c-sharp' }, { trained: 3, lang: 'javascript' }],
      },
      {
        query:
          'SELECT COUNT(1) AS n, e.capabilities.language AS lang, e.capabilities.media AS media FROM employees e ' +
          'WHERE e.team = "Cloud" GROUP BY e.capabilities.language, e.capabilities.media',
        result: [
          { n: 1, lang: 'c-sharp', media: true },
          { n: 1, lang: 'javascript', media: false },
          { n: 1, media: true },
          { n: 2, lang: 'javascript', media: true },
        ],
      },
    ],
  },
  {
    data: [
      { id: '1', name: 'Stangincy', price: 24.5, onCloseout: false, onSale: true, category: 'Tools' },
      { id: '2', name: 'Vimero', price: 24.5, onCloseout: false, onSale: false, category: 'Tools' },
      { id: '3', name: 'Kramundsen', price: 7.5, onCloseout: true, onSale: true },
    ],
    examples: [
      {
        query: 'SELECT p.name, p.onSale ? (p.price * 0.85) : p.price AS total FROM products p',
        result: [
          { name: 'Stangincy', total: 20.825 },
          { name: 'Vimero', total: 24.5 },
          { name: 'Kramundsen', total: 6.375 },
        ],
      },
      {
        query:
          'SELECT VALUE p.onCloseout ? (p.price * 0.5) : p.onSale ? (p.price * 0.85) : p.price FROM products p',
        result: [20.825, 24.5, 3.75],
      },
      { query: 'SELECT VALUE p.price FROM products p WHERE p.price BETWEEN 7.5 AND 20', result: [7.5] },
      {
        query: 'SELECT (p.price BETWEEN 0 AND 10) AS low, p.price FROM products p WHERE p.id != "1"',
        result: [
          { low: false, price: 24.5 },
          { low: true, price: 7.5 },
        ],
      },
      { query: 'SELECT DISTINCT VALUE p.category FROM products p', result: ['Tools'] },
      { query: 'SELECT DISTINCT p.category FROM products p', result: [{}, { category: 'Tools' }] },
      {
        query: 'SELECT VALUE p.name FROM p WHERE p.category IN ("Tools", "Clothing")',
        result: ['Stangincy', 'Vimero'],
      },
      { query: 'SELECT VALUE COUNT(p.category) FROM p', result: [2] },
      { query: 'SELECT VALUE AVG(p.price) FROM p WHERE p.id != "3"', result: [24.5] },
      {
        query: 'SELECT VALUE { low: MIN(p.price), high: MAX(p.price) } FROM p',
        result: [{ low: 7.5, high: 24.5 }],
      },
      {
        query: 'SELECT VALUE p.name FROM p ORDER BY p.name DESC OFFSET 1 LIMIT 5',
        result: ['Stangincy', 'Kramundsen'],
      },
      { query: 'SELECT VALUE p.name FROM p ORDER BY p.name OFFSET 10 LIMIT 5', result: [] },
    ],
  },
  {
    // SUM and AVG have no value if one is text, a boolean or null; MIN and MAX order null, booleans, numbers, text.
    data: [
      { id: '1', v: 3 },
      { id: '2', v: 'text' },
      { id: '3' },
      { id: '4', v: null },
      { id: '5', v: true },
    ],
    examples: [
      { query: 'SELECT VALUE SUM(c.v) FROM c', result: [] },
      { query: 'SELECT VALUE AVG(c.v) FROM c', result: [] },
      { query: 'SELECT VALUE SUM(c.v) FROM c WHERE c.id = "1" OR c.id = "3"', result: [3] },
      { query: 'SELECT VALUE MAX(c.v) FROM c', result: ['text'] },
      { query: 'SELECT VALUE MIN(c.v) FROM c', result: [null] },
      { query: 'SELECT VALUE MIN(c.v) FROM c WHERE NOT IS_NULL(c.v)', result: [true] },
    ],
  },
];
