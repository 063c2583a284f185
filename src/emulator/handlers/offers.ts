/** Answers requests for offers: reads and changes the throughput of a database or container. */
import type { OfferModel } from '../account/model.ts';
import { json, METADATA_WRITE_RU, type GatewayRequest, type GatewayReply } from '../http/request.ts';
import { own, type JsonObject } from '../json/json-value.ts';
import { offerHistory, changeThroughput } from '../account/catalog.ts';
import { minimumRu, offerContent, throughputOf } from '../partitions/offers.ts';
import { Refusal } from '../http/refusal.ts';
import { listReply, requireUnchanged } from './resources.ts';

function bodyOf(request: GatewayRequest, offer: OfferModel): JsonObject {
  return {
    resource: offer.resource,
    offerType: 'Invalid',
    offerVersion: 'V2',
    offerResourceId: offer.offerResourceId,
    content: offerContent(offer.throughput, offerHistory(request.account, offer), isPending(offer)),
    id: offer.id,
    _rid: offer.id,
    _self: `offers/${offer.id}/`,
    _etag: offer.etag,
    _ts: offer.ts,
  };
}

/** Returns whether the ranges for a raised throughput are still missing. */
function isPending({ pendingUntilMs }: OfferModel): boolean {
  return pendingUntilMs !== undefined && pendingUntilMs > 0;
}

function headersOf(request: GatewayRequest, offer: OfferModel): Record<string, string> {
  const minimum = minimumRu(offer.throughput.mode, offerHistory(request.account, offer));
  return {
    etag: offer.etag,
    'x-ms-cosmos-min-throughput': String(minimum),
    'x-ms-offer-replace-pending': String(isPending(offer)),
  };
}

function find(request: GatewayRequest): OfferModel {
  const id = request.segment(1).toLowerCase();
  for (const offer of request.account.offers.values()) if (offer.id === id) return offer;
  throw new Refusal(404, `There is no offer ${request.segment(1)}.`);
}

export function read(request: GatewayRequest): GatewayReply {
  const offer = find(request);
  return json(200, bodyOf(request, offer), headersOf(request, offer));
}

export function list(request: GatewayRequest): GatewayReply {
  const offers = [...request.account.offers.values()].map((offer) => bodyOf(request, offer));
  return listReply(request, 'Offers', '', offers);
}

export function replace(request: GatewayRequest): GatewayReply {
  const offer = find(request);
  requireUnchanged(request, 'offer', offer.etag);
  changeThroughput(request.account, offer, throughputOf(own(request.jsonBody(), 'content')));
  return json(200, bodyOf(request, offer), headersOf(request, offer), METADATA_WRITE_RU);
}
