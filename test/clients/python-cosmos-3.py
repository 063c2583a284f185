"""Uses the emulator as an application of Debian's python3-azure-cosmos (3.1.1) does: python-cosmos-3.py ENDPOINT KEY.

This client signs by resource id where it is given a resource, drains the list of ranges before it merges a query, and
sends the protocol version 2018-09-17. Each check prints one line. The exit code is 1 if a check has failed.
"""
import sys

import requests

import azure.cosmos.cosmos_client as cosmos_client
import azure.cosmos.documents as documents

from python_checks import check, refusal, run_checks

ENDPOINT, KEY = sys.argv[1:3]

client = cosmos_client.CosmosClient(ENDPOINT, {'masterKey': KEY}, documents.ConnectionPolicy())
database = client.CreateDatabase({'id': 'python'})
container = client.CreateContainer(
    'dbs/python', {'id': 'orders', 'partitionKey': {'paths': ['/pk'], 'kind': 'Hash'}}, {'offerThroughput': 18000}
)
LINK = 'dbs/python/colls/orders'
# Every range has items: this client cannot merge a MAX of a range that has none.
ITEMS = [{'id': 'i%d' % n, 'pk': 'k%d' % (n % 20), 'n': n} for n in range(40)]
for item in ITEMS:
    client.CreateItem(LINK, item)
CROSS = {'enableCrossPartitionQuery': True, 'maxItemCount': 7}


@check
def ranges_are_several():
    assert len(list(client._ReadPartitionKeyRanges(LINK))) == 3


@check
def items_by_name():
    link = LINK + '/docs/i1'
    read = client.ReadItem(link, {'partitionKey': 'k1'})
    assert read['n'] == 1, read
    replaced = client.ReplaceItem(link, dict(read, color='red'), {'partitionKey': 'k1'})
    assert replaced['color'] == 'red' and replaced['_etag'] != read['_etag'], replaced
    assert client.UpsertItem(LINK, {'id': 'new', 'pk': 'k1'})['id'] == 'new'
    client.DeleteItem(LINK + '/docs/new', {'partitionKey': 'k1'})
    assert refusal(lambda: client.ReadItem(LINK + '/docs/new', {'partitionKey': 'k1'})) == 404
    assert refusal(lambda: client.CreateItem(LINK, {'id': 'i1', 'pk': 'k1'})) == 409


@check
def resources_by_self_link():
    assert client.ReadDatabase(database['_self'])['id'] == 'python'
    assert client.ReadContainer(container['_self'])['id'] == 'orders'
    created = client.CreateItem(container['_self'], {'id': 'self', 'pk': 'k1'})
    assert client.ReadItem(created['_self'], {'partitionKey': 'k1'})['id'] == 'self'
    client.DeleteItem(created['_self'], {'partitionKey': 'k1'})
    assert len(list(client.ReadItems(container['_self'], {'maxItemCount': 7}))) == len(ITEMS)


@check
def etags():
    read = client.ReadItem(LINK + '/docs/i2', {'partitionKey': 'k2'})
    condition = {'type': 'IfMatch', 'condition': 'other'}
    options = {'partitionKey': 'k2', 'accessCondition': condition}
    assert refusal(lambda: client.ReplaceItem(read['_self'], read, options)) == 412


@check
def queries_across_ranges():
    found = list(client.QueryItems(LINK, 'SELECT * FROM c WHERE c.n >= 30', CROSS))
    assert sorted(item['n'] for item in found) == list(range(30, 40)), found
    spec = {'query': 'SELECT * FROM c WHERE c.n = @n', 'parameters': [{'name': '@n', 'value': 3}]}
    assert [item['id'] for item in client.QueryItems(LINK, spec, CROSS)] == ['i3']


@check
def a_query_without_leave_is_refused():
    assert refusal(lambda: list(client.QueryItems(LINK, 'SELECT * FROM c', {}))) == 400


@check
def a_query_within_one_key():
    options = {'partitionKey': 'k1', 'maxItemCount': 1}
    found = client.QueryItems(LINK, 'SELECT VALUE c.n FROM c', options)
    assert sorted(found) == [1, 21]


@check
def merged_queries_in_both_modes():
    for mode in ('direct', 'planned'):
        requests.put(ENDPOINT + '_emulator/account', json={'queries': mode}).raise_for_status()
        ask = lambda query: list(client.QueryItems(LINK, query, CROSS))
        ordered = [item['n'] for item in ask('SELECT * FROM c ORDER BY c.n DESC')]
        assert ordered == list(range(39, -1, -1)), (mode, ordered)
        assert [item['n'] for item in ask('SELECT TOP 9 * FROM c ORDER BY c.n')] == list(range(9)), mode
        assert ask('SELECT VALUE COUNT(1) FROM c') == [40], mode
        assert ask('SELECT VALUE SUM(c.n) FROM c') == [780], mode
        assert ask('SELECT VALUE AVG(c.n) FROM c') == [19.5], mode
        assert ask('SELECT VALUE MAX(c.n) FROM c') == [39], mode
        assert ask('SELECT VALUE MIN(c.n) FROM c') == [0], mode
    requests.put(ENDPOINT + '_emulator/account', json={'queries': 'direct'}).raise_for_status()


@check
def the_change_feed_of_each_range():
    seen = []
    for part in client._ReadPartitionKeyRanges(LINK):
        options = {'partitionKeyRangeId': part['id'], 'isStartFromBeginning': True}
        seen.extend(item['id'] for item in client.QueryItemsChangeFeed(LINK, options))
    assert sorted(seen) == sorted(item['id'] for item in ITEMS), seen


@check
def throughput():
    (offer,) = client.QueryOffers("SELECT * FROM root r WHERE r.resource = '%s'" % container['_self'])
    assert offer['content']['offerThroughput'] == 18000, offer
    offer['content']['offerThroughput'] = 1000
    assert client.ReplaceOffer(offer['_self'], offer)['content']['offerThroughput'] == 1000
    assert client.ReadOffer(offer['_self'])['content']['offerThroughput'] == 1000


@check
def what_is_missing_is_refused():
    assert refusal(lambda: client.CreateUser('dbs/python', {'id': 'u'})) == 501
    assert refusal(lambda: list(client.ReadUsers(database['_self']))) == 501
    assert refusal(lambda: list(client.ReadAttachments(LINK + '/docs/i1', {'partitionKey': 'k1'}))) == 501
    keyless = {'id': 'keyless'}
    assert refusal(lambda: client.CreateContainer('dbs/python', keyless)) == 400


run_checks()
