// Run as its own process by the test that lets several of them migrate one file at once.
import { pathToFileURL } from 'node:url';
import { must } from '../../../src/lib/assert.ts';
import { migrate, openDatabase } from '../../../src/lib/sqlite/sqlite.ts';

const [path, root] = process.argv.slice(2);
const database = openDatabase({ path: must(path, 'the database comes first'), synchronous: 'OFF' });
migrate(database, 'sample', pathToFileURL(`${must(root, 'the folder comes second')}/`));
database.close();
