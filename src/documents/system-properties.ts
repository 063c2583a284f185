/** The top-level properties that belong to the service and never travel (fact SVC-45). */
export const SYSTEM_PROPERTIES: readonly string[] = ['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn'];
