// Reads what a batch needs to know before it is judged. What depends on a locked conversion is read here, after the lock.

import type { RatesOnRecord } from "../domain/rate-history.ts";
import type { BatchStore, NewRefund, ToldEvent } from "../store/batch.ts";
import { type KnownPartnerships, readPartnerships, type Signals } from "../store/queries/credits.ts";
import type { ShopTarget } from "../store/queries/queue.ts";
import { readRatesOnRecord, type WantedRates } from "../store/queries/rates-on-record.ts";
import type { Db } from "../store/store.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { StoredCredit } from "../store/tables/partners.ts";
import type { OrderRequest } from "./order-request.ts";

/** The conversions of a batch as they were read, and the shops that are told of their moves. */
export interface Found {
	conversions: readonly Conversion[];
	/** Ids of the conversions that are locked. Only these may change. */
	lockedIds: ReadonlySet<number>;
	shops: readonly ShopTarget[];
}

export interface Facts {
	/** Shops by the id of the programme. */
	shops: ReadonlyMap<number, ShopTarget>;
	partnerships: KnownPartnerships;
	/** Credits and refunds of the locked conversions, by the ids of the conversions. */
	credits: ReadonlyMap<number, StoredCredit>;
	refunds: ReadonlyMap<number, readonly NewRefund[]>;
	/** Codes of partner links, by the ids of the links. */
	linkCodes: ReadonlyMap<number, string>;
	/** Events of the locked conversions that were stored before. Empty if no partner gets callbacks. */
	told: ReadonlyMap<number, readonly ToldEvent[]>;
	recordOf: RecordOf;
}

/** Returns the rates of a programme and of one of its partnerships over time. Null stands for nobody. */
export type RecordOf = (programmeId: number, partnershipId: number | null) => RatesOnRecord;

type Asking = Omit<OrderRequest<unknown>, "judge" | "mayChange">;

export async function readFacts(
	db: Db,
	batch: BatchStore,
	requests: readonly Asking[],
	{ conversions, lockedIds, shops }: Found,
): Promise<Facts> {
	const ids = [...lockedIds];
	const credits = await batch.findCredits(db, ids);
	const signals = requests.flatMap((request) => request.signals ?? []);
	const credited = [...credits.map((row) => row.partnership_id), ...requests.map((one) => one.partnershipId)];
	const partnerships = await readPartnerships(db, batch, signals, credited);
	const isRefunding = requests.some(({ needsRefunds }) => needsRefunds === true);
	const refunds = isRefunding ? await batch.findRefunds(db, ids) : [];
	const isTellingPartners = partnerships.all.some(({ target }) => target !== null);
	const told = isTellingPartners ? await batch.findToldEvents(db, ids) : [];
	const links = isTellingPartners
		? await batch.findLinkCodes(db, linksOf(credits, signals, partnerships))
		: [];
	return {
		shops: new Map(shops.map((shop) => [shop.programmeId, shop])),
		partnerships,
		credits: new Map(credits.map((credit) => [credit.conversion_id, credit])),
		refunds: Map.groupBy(refunds, ({ conversion_id }) => conversion_id),
		linkCodes: new Map(links.map(({ id, code }) => [id, code])),
		told: Map.groupBy(told, ({ conversion_id }) => conversion_id),
		recordOf: await readRecords(db, requests, conversions, partnerships),
	};
}

function linksOf(
	credits: readonly StoredCredit[],
	signals: readonly Signals[],
	partnerships: KnownPartnerships,
): number[] {
	const clicks = signals.flatMap((one) => partnerships.clicksOf(one));
	const ids = [...credits.map(({ link_id }) => link_id), ...clicks.map((click) => click?.linkId)];
	return [...new Set(ids.flatMap((id) => id ?? []))];
}

/**
 * Reads the rates over time that a better credit may need. A report leads to one if its order was reported before, here or
 * in the same batch.
 */
async function readRecords(
	db: Db,
	requests: readonly Asking[],
	conversions: readonly Conversion[],
	partnerships: KnownPartnerships,
): Promise<RecordOf> {
	const known = new Set(conversions.map(({ programme_id, order_id }) => `${programme_id} ${order_id}`));
	const wanted = new Map<string, WantedRates>();
	for (const { programmeId, orderId, signals } of requests) {
		const order = `${programmeId} ${orderId}`;
		const isRepeated = known.has(order);
		known.add(order);
		if (!isRepeated || signals === undefined) continue;
		const { programme } = signals;
		for (const partnership of [null, ...partnerships.candidatesOf(signals)])
			wanted.set(`${programmeId} ${partnership?.id}`, { programme, partnership });
	}
	const records = await readRatesOnRecord(db, [...wanted.values()]);
	const recordOf = new Map([...wanted.keys()].map((key, index) => [key, records[index]]));
	return (programmeId, partnershipId) => {
		const record = recordOf.get(`${programmeId} ${partnershipId ?? undefined}`);
		if (record === undefined) throw new Error("the rates of a partnership were not read");
		return record;
	};
}
