/** Offers: what a database or container pays for, read and changed. */
import type { OfferModel } from '../account/model.ts';
import { json, METADATA_WRITE_RU, type Call, type Reply } from '../http/request.ts';
import { own, type JsonObject } from '../json/json-value.ts';
import { offerHistory, replaceOffer } from '../account/catalog.ts';
import { minimumRu, offerContent, throughputOf } from '../partitions/offers.ts';
import { Refusal } from '../http/refusal.ts';
import { listReply } from './lists.ts';

function bodyOf(call: Call, offer: OfferModel): JsonObject {
  return {
    resource: offer.resource,
    offerType: 'Invalid',
    offerVersion: 'V2',
    offerResourceId: offer.offerResourceId,
    content: offerContent(offer.throughput, offerHistory(call.account, offer)),
    id: offer.id,
    _rid: offer.id,
    _self: `offers/${offer.id}/`,
    _etag: offer.etag,
    _ts: offer.ts,
  };
}

function headersOf(call: Call, offer: OfferModel): Record<string, string> {
  const minimum = minimumRu(offer.throughput.mode, offerHistory(call.account, offer));
  return {
    etag: offer.etag,
    'x-ms-cosmos-min-throughput': String(minimum),
    'x-ms-offer-replace-pending': String(offer.pendingUntilMs !== undefined && offer.pendingUntilMs > 0),
  };
}

function find(call: Call): OfferModel {
  const id = call.segment(1).toLowerCase();
  for (const offer of call.account.offers.values()) if (offer.id === id) return offer;
  throw new Refusal(404, `There is no offer ${call.segment(1)}.`);
}

export function read(call: Call): Reply {
  const offer = find(call);
  return json(200, bodyOf(call, offer), headersOf(call, offer));
}

export function list(call: Call): Reply {
  const offers = [...call.account.offers.values()].map((offer) => bodyOf(call, offer));
  return listReply(call, 'Offers', '', offers);
}

export function replace(call: Call): Reply {
  const offer = find(call);
  const ifMatch = call.headers['if-match'];
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== offer.etag) {
    throw new Refusal(412, 'The offer was changed since it was read.');
  }
  replaceOffer(call.account, offer, throughputOf(own(call.jsonBody(), 'content')));
  return json(200, bodyOf(call, offer), headersOf(call, offer), METADATA_WRITE_RU);
}
