"""Uses the emulator as an application of azure-cosmos 4 for Python does: python-cosmos-4.py ENDPOINT KEY.

This client drains the list of ranges until 304, sends the container's resource id along, merges queries across ranges
by itself, and reads the feeds. Each check prints one line. The exit code is 1 if a check has failed.
"""
import sys

import requests

from azure.cosmos import CosmosClient, PartitionKey

from python_checks import check, refusal, run_checks

ENDPOINT, KEY = sys.argv[1:3]

client = CosmosClient(ENDPOINT, KEY)
database = client.create_database_if_not_exists('python4')
container = database.create_container_if_not_exists('orders', PartitionKey('/pk'), offer_throughput=18000)
ITEMS = [{'id': 'i%d' % n, 'pk': 'k%d' % (n % 20), 'n': n, 'tags': ['t%d' % (n % 3)]} for n in range(40)]
for item in ITEMS:
    container.create_item(item)


def ask(query, **options):
    return list(container.query_items(query, enable_cross_partition_query=True, max_item_count=7, **options))


@check
def ranges_are_several():
    assert len(list(container.read_feed_ranges())) == 3


@check
def items():
    read = container.read_item('i1', 'k1')
    replaced = container.replace_item('i1', dict(read, color='red'))
    assert replaced['color'] == 'red' and replaced['_etag'] != read['_etag'], replaced
    assert refusal(lambda: container.create_item({'id': 'i1', 'pk': 'k1'})) == 409
    assert refusal(lambda: container.read_item('nothing', 'k1')) == 404
    container.upsert_item({'id': 'new', 'pk': 'k1'})
    container.delete_item('new', 'k1')


@check
def a_new_id_keeps_the_rid():
    created = container.create_item({'id': 'old', 'pk': 'k1'})
    renamed = container.replace_item('old', {'id': 'renamed', 'pk': 'k1'})
    assert renamed['id'] == 'renamed' and renamed['_rid'] == created['_rid'], renamed
    assert refusal(lambda: container.read_item('old', 'k1')) == 404
    container.delete_item('renamed', 'k1')


@check
def patches_and_batches():
    operations = [{'op': 'move', 'from': '/color', 'path': '/colour'}, {'op': 'incr', 'path': '/n', 'value': 0}]
    assert container.patch_item('i1', 'k1', operations)['colour'] == 'red'
    results = container.execute_item_batch([('create', ({'id': 'b', 'pk': 'k1'},)), ('delete', ('b',))], 'k1')
    assert [result['statusCode'] for result in results] == [201, 204], results


@check
def queries_across_ranges():
    assert sorted(item['n'] for item in ask('SELECT * FROM c WHERE c.n >= 30')) == list(range(30, 40))
    parameters = [{'name': '@n', 'value': 3}]
    assert [item['id'] for item in ask('SELECT * FROM c WHERE c.n = @n', parameters=parameters)] == ['i3']
    assert refusal(lambda: list(container.query_items('SELECT * FROM c WHERE c.n = 1'))) == 400


@check
def merged_queries_in_both_modes():
    for mode in ('direct', 'planned'):
        requests.put(ENDPOINT + '_emulator/account', json={'queries': mode}).raise_for_status()
        assert [item['n'] for item in ask('SELECT * FROM c ORDER BY c.n DESC')] == list(range(39, -1, -1)), mode
        assert ask('SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3') == [5, 6, 7], mode
        assert sorted(ask('SELECT DISTINCT VALUE c.tags[0] FROM c')) == ['t0', 't1', 't2'], mode
        assert ask('SELECT VALUE COUNT(1) FROM c') == [40], mode
        assert ask('SELECT VALUE SUM(c.n) FROM c') == [780], mode
        assert ask('SELECT VALUE AVG(c.n) FROM c') == [19.5], mode
        assert ask('SELECT VALUE MAX(c.n) FROM c') == [39], mode
        assert ask('SELECT VALUE MIN(c.n) FROM c WHERE c.n > 30') == [31], mode
        # Only one range has it.
        assert ask('SELECT VALUE MAX(c.n) FROM c WHERE c.id = "i7"') == [7], mode
    requests.put(ENDPOINT + '_emulator/account', json={'queries': 'direct'}).raise_for_status()


@check
def groups():
    found = ask('SELECT c.tags[0] AS tag, COUNT(1) AS n FROM c GROUP BY c.tags[0]')
    assert sorted((group['tag'], group['n']) for group in found) == [('t0', 14), ('t1', 13), ('t2', 13)], found


@check
def one_key():
    pages = container.query_items('SELECT VALUE c.n FROM c', partition_key='k1', max_item_count=1).by_page()
    assert sorted(n for page in pages for n in page) == [1, 21]


@check
def the_change_feed():
    seen = [item['id'] for item in container.query_items_change_feed(start_time='Beginning')]
    assert sorted(seen) == sorted(item['id'] for item in ITEMS), seen


@check
def a_container_created_again():
    other = database.create_container('again', PartitionKey('/pk'))
    other.create_item({'id': '1', 'pk': 'p'})
    database.delete_container('again')
    CosmosClient(ENDPOINT, KEY).get_database_client('python4').create_container('again', PartitionKey('/pk'))
    assert refusal(lambda: other.read_item('1', 'p')) == 404
    assert other.create_item({'id': '2', 'pk': 'p'})['id'] == '2'


@check
def throughput():
    assert container.get_throughput().offer_throughput == 18000
    assert container.replace_throughput(20000).offer_throughput == 20000
    assert container.get_throughput().offer_throughput == 20000


@check
def metrics():
    ask('SELECT * FROM c WHERE c.n = 1', populate_query_metrics=True, populate_index_metrics=True)
    headers = container.client_connection.last_response_headers
    assert 'x-ms-documentdb-query-metrics' in headers and 'x-ms-cosmos-index-utilization' in headers, headers


run_checks()
