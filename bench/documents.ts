/**
 * Documents for the benchmarks: 1 KB and about 20 properties each, in bulk bodies that are built once and then
 * overwritten in place. Changing a few digits costs almost nothing, so that a benchmark does not measure its client.
 */
import { effectiveKey } from '../src/epk/effective-key.ts';

export const DOCUMENT_BYTES = 1024;
export const OPERATIONS = 100;

/** The number of distinct partition keys: about 100 documents for each key among a million. */
const DEVICES = 10_000;

const ID = '6f9619ff-8b86-4d01-b42d-00cf########';
const DEVICE = 'device-@@@@@@';

/** Properties of every document. */
const FIRST = {
  id: ID,
  deviceId: DEVICE,
  tenantId: 'tenant-0042',
  type: 'reading',
  createdAt: '2026-01-31T12:34:56.789Z',
  status: 'active',
};

/** Properties of documents of at least 1 KB. */
const MORE = {
  firmware: '4.18.2',
  temperature: 21.375,
  humidity: 0.4821,
  pressureHpa: 1013.25,
  batteryPercent: 87,
  online: true,
  errorCode: null,
  location: { latitude: 52.520008, longitude: 13.404954, accuracyM: 12.5, floor: 3 },
  tags: ['indoor', 'floor-3', 'calibrated', 'battery'],
  owner: { name: 'Zoë Müller', email: 'zoe.mueller@example.com', team: 'facilities' },
  network: { ssid: 'plant-7', rssiDbm: -61, ip: '10.20.30.40', retries: 2 },
  readings: [21.25, 21.31, 21.375, 21.4, 21.38, 21.36],
  checksum: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  schemaVersion: 7,
};
/** An entry of the list that large documents have. */
const EVENT = {
  at: FIRST.createdAt,
  location: MORE.location,
  network: MORE.network,
  readings: MORE.readings,
};

/**
 * Returns a document of the application as JSON, with marks in the places of the id and the device. Small documents have
 * fewer properties, large ones a list of objects.
 */
export function documentTemplate(sizeBytes = DOCUMENT_BYTES): string {
  const properties = sizeBytes < DOCUMENT_BYTES ? FIRST : { ...FIRST, ...MORE };
  const events: object[] = [];
  const document = (notes: string): string =>
    JSON.stringify({ ...properties, ...(events.length === 0 ? {} : { events }), notes });
  const missing = (): number => sizeBytes - Buffer.byteLength(document(''));
  while (missing() > DOCUMENT_BYTES) events.push(EVENT);
  return document('lorem ipsum '.repeat(DOCUMENT_BYTES / 10).slice(0, missing()));
}

/** The body of one bulk request: creates, all for one physical range. */
export class BulkBody {
  readonly bytes: Buffer;
  readonly #idAt: number[];
  /** Where the device is written: two offsets for each operation, one in the document and one in the partition key. */
  readonly #deviceAt: number[];

  constructor() {
    const operation = `{"operationType":"Create","resourceBody":${documentTemplate()},"partitionKey":"[\\"${DEVICE}\\"]"}`;
    this.bytes = Buffer.from(`[${Array.from({ length: OPERATIONS }, () => operation).join(',')}]`);
    this.#idAt = placesOf(this.bytes, '########');
    this.#deviceAt = placesOf(this.bytes, '@@@@@@');
  }

  /** Fills the body with the documents from number `first`, using the devices of one range in turn. Returns the bytes. */
  fill(first: number, devices: readonly number[]): Buffer {
    for (let i = 0; i < OPERATIONS; i += 1) {
      const device = devices[(first + i) % devices.length] ?? 0;
      writeDigits(this.bytes, this.#idAt[i] ?? 0, 8, first + i);
      writeDigits(this.bytes, this.#deviceAt[2 * i] ?? 0, 6, device);
      writeDigits(this.bytes, this.#deviceAt[2 * i + 1] ?? 0, 6, device);
    }
    return this.bytes;
  }
}

/** Returns the devices that belong to each of the ranges which start at `minBounds` (ascending). */
export function devicesByRange(minBounds: readonly string[]): number[][] {
  const devices: number[][] = minBounds.map(() => []);
  for (let device = 0; device < DEVICES; device += 1) {
    const key = effectiveKey('hash-v2', [DEVICE.replace('@@@@@@', String(device).padStart(6, '0'))]);
    devices[minBounds.findLastIndex((min) => min <= key)]?.push(device);
  }
  return devices;
}

function placesOf(bytes: Buffer, text: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

function writeDigits(bytes: Buffer, at: number, digits: number, value: number): void {
  let rest = value;
  for (let i = at + digits - 1; i >= at; i -= 1) {
    bytes[i] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}
