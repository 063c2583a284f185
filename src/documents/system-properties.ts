/** The top-level properties that the service adds to a document. They are never copied (fact SVC-45). */
export const SYSTEM_PROPERTIES: readonly string[] = ['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn'];
