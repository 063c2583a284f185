import { json, type Call, type Reply } from '../http/request.ts';

/** The account document: one region, for reading and writing, at this very address. */
export function read(call: Call): Reply {
  const location = { name: 'Local', databaseAccountEndpoint: call.endpoint };
  return json(200, {
    _self: '',
    id: call.account.id,
    _rid: 'cosmig-emulator.sql.cosmosdb.local',
    media: '//media/',
    addresses: '//addresses/',
    _dbs: '//dbs/',
    writableLocations: [location],
    readableLocations: [location],
    enableMultipleWriteLocations: false,
    continuousBackupEnabled: call.account.settings.avad,
    enableNRegionSynchronousCommit: false,
    enablePerPartitionFailoverBehavior: false,
    userReplicationPolicy: { asyncReplication: false, minReplicaSetSize: 1, maxReplicasetSize: 4 },
    userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
    systemReplicationPolicy: { minReplicaSetSize: 1, maxReplicasetSize: 4 },
    readPolicy: { primaryReadCoefficient: 1, secondaryReadCoefficient: 1 },
  });
}
