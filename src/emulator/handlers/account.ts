/** Answers with the account document: one region for reading and writing, at the URL that clients use. */
import { json, type GatewayRequest, type GatewayReply } from '../http/request.ts';

export function read(request: GatewayRequest): GatewayReply {
  const location = { name: 'Local', databaseAccountEndpoint: request.endpoint };
  return json(200, {
    _self: '',
    id: request.account.id,
    _rid: 'cosmig-emulator.sql.cosmosdb.local',
    media: '//media/',
    addresses: '//addresses/',
    _dbs: '//dbs/',
    writableLocations: [location],
    readableLocations: [location],
    enableMultipleWriteLocations: false,
    continuousBackupEnabled: request.account.settings.avad,
    enableNRegionSynchronousCommit: false,
    enablePerPartitionFailoverBehavior: false,
    userReplicationPolicy: { asyncReplication: false, minReplicaSetSize: 1, maxReplicasetSize: 4 },
    userConsistencyPolicy: { defaultConsistencyLevel: request.account.settings.consistency },
    systemReplicationPolicy: { minReplicaSetSize: 1, maxReplicasetSize: 4 },
    readPolicy: { primaryReadCoefficient: 1, secondaryReadCoefficient: 1 },
  });
}
