// The part that credits have in changes of conversions. This module reads the partners and their credits,
// writes the rows of credits, and adds the events for partners.

import type {
	AskedFacts,
	ChangeModule,
	Followed,
	MadeMove,
	ReadFacts,
} from "#core/conversions/change-module.ts";
import type { EventName } from "#core/domain/event-name.ts";
import type { RatesOnRecord } from "#core/domain/rate-history.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import type { BatchStore, NewMove } from "#core/store/batch.ts";
import { keysOf, readById } from "#core/store/module-parts.ts";
import type { Db } from "#core/store/store.ts";
import type { Credit } from "../domain/credit.ts";
import {
	type CreditablePartnership,
	type KnownPartnerships,
	readPartnerships,
	type Signals,
} from "../store/creditable-partnerships.ts";
import { CREDIT_OF_CONVERSION, creditOf, rowOfCredit } from "../store/credits.ts";
import { readRatesOnRecord, type WantedRates } from "../store/rates-on-record.ts";
import { CREDITS, type StoredCredit } from "../store/tables.ts";
import { partnerEventsOf } from "./partner-events.ts";

declare module "#core/conversions/module-facts.ts" {
	interface RequestNeeds {
		/** Click IDs and coupon codes that may credit a partner. Requests that cannot credit anybody have none. */
		signals?: Signals | undefined;
		/** The partnership to which the request credits the conversion, if it is known before. */
		partnershipId?: number | undefined;
	}
	interface StepParts {
		/**
		 * Credit of the conversion. Undefined if the programme credits nobody, or if the shop's server has not reported the
		 * sale yet.
		 */
		credit?: Credit | undefined;
	}
	interface BatchFacts {
		partnerships: KnownPartnerships;
		/** Codes of partner links, by the ids of the links. */
		linkCodes: ReadonlyMap<number, string>;
		recordOf: RecordOf;
	}
	interface ConversionFacts {
		/** The credit, or undefined if the conversion has none. */
		credit: Credit | undefined;
		/** The credited partnership, or undefined if nobody is credited. */
		credited: CreditablePartnership | undefined;
		/** Events that were stored for partners. Empty if no partner of the batch gets callbacks. */
		told: readonly Pick<ToldEvent, "receiver_id" | "name">[];
	}
}

/**
 * Returns the rates of a programme and of one of its partnerships over time. A null partnership means nobody.
 */
type RecordOf = (programmeId: number, partnershipId: number | null) => RatesOnRecord;

export const CREDIT_CHANGES: ChangeModule = { name: "credits", tables: [CREDITS], read, follow };

/** An event that was stored about a conversion. */
interface ToldEvent {
	conversion_id: number;
	receiver_id: ReceiverId;
	name: EventName;
}

export const EVENTS_OF_CONVERSION = readById<ToldEvent>(
	"select conversion_id, receiver_id, name from events where conversion_id = :id",
);
export const CODE_OF_LINK = readById<{ id: number; code: string }>(
	"select id, code from partner_links where id = :id",
);

async function read(db: Db, batch: BatchStore, asked: AskedFacts): Promise<ReadFacts> {
	const { requests, lockedIds } = asked;
	const credits = await batch.find(db, CREDIT_OF_CONVERSION, keysOf(lockedIds));
	const signals = requests.flatMap((request) => request.signals ?? []);
	const partnershipIds = [
		...credits.map((row) => row.partnership_id),
		...requests.map((one) => one.partnershipId),
	];
	const partnerships = await readPartnerships(db, batch, signals, partnershipIds);
	const isTellingPartners = partnerships.all.some(({ target }) => target !== null);
	const storedEvents = isTellingPartners ? await batch.find(db, EVENTS_OF_CONVERSION, keysOf(lockedIds)) : [];
	const links = isTellingPartners
		? await batch.find(db, CODE_OF_LINK, keysOf(linksOf(credits, signals, partnerships)))
		: [];
	const recordOf = await readRecords(db, asked, partnerships);
	const creditsById = new Map(credits.map((credit) => [credit.conversion_id, credit]));
	const toldById = Map.groupBy(storedEvents, ({ conversion_id }) => conversion_id);
	return {
		batch: { partnerships, recordOf, linkCodes: new Map(links.map(({ id, code }) => [id, code])) },
		factsOf(stored) {
			const row = creditsById.get(stored?.id ?? 0);
			const credit = row && creditOf(row);
			return {
				credit,
				credited: creditedBy(partnerships, credit),
				told: toldById.get(stored?.id ?? 0) ?? [],
			};
		},
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
 * Reads the rates over time that a better credit may need. A report can lead to a better credit only if its
 * order was reported before, in the database or in the same batch.
 */
async function readRecords(
	db: Db,
	{ requests, conversions }: AskedFacts,
	partnerships: KnownPartnerships,
): Promise<RecordOf> {
	const wanted = findWantedRates(requests, conversions, partnerships);
	const records = await readRatesOnRecord(db, [...wanted.values()]);
	const recordOf = new Map([...wanted.keys()].map((key, index) => [key, records[index]]));
	return (programmeId, partnershipId) => {
		const record = recordOf.get(`${programmeId} ${partnershipId ?? undefined}`);
		if (record === undefined) throw new Error("the rates of a partnership were not read");
		return record;
	};
}

/** Returns the rates to read, by the ids of programme and partnership. */
function findWantedRates(
	requests: AskedFacts["requests"],
	conversions: AskedFacts["conversions"],
	partnerships: KnownPartnerships,
): ReadonlyMap<string, WantedRates> {
	const wanted = new Map<string, WantedRates>();
	if (requests.every(({ signals }) => signals === undefined)) return wanted;
	const reportedOrders = new Set(
		conversions.map(({ programme_id, order_id }) => `${programme_id} ${order_id}`),
	);
	for (const { programmeId, orderId, signals } of requests) {
		const order = `${programmeId} ${orderId}`;
		const isRepeated = reportedOrders.has(order);
		reportedOrders.add(order);
		if (!isRepeated || signals === undefined) continue;
		const { programme } = signals;
		for (const partnership of [null, ...partnerships.candidatesOf(signals)])
			wanted.set(`${programmeId} ${partnership?.id}`, { programme, partnership });
	}
	return wanted;
}

function follow(made: MadeMove): Followed {
	const { parts, known, facts } = made;
	const credit = parts.credit ?? known.credit;
	// Most sales have no credit, so there is nothing to do for partners.
	if (credit === undefined) return {};
	const credited = parts.credit === undefined ? known.credited : creditedBy(facts.partnerships, credit);
	const now = { ...known, credit, credited };
	const events = partnerEventsOf({ ...made, known: now });
	const newlyTold = events.map(({ target, name }) => ({ receiver_id: target.receiverId, name }));
	return {
		rows: parts.credit === undefined ? [] : [CREDITS.add([rowFor(made, parts.credit)])],
		columns: partnersOf({ ...made, known: now }),
		events,
		known: { credit, credited, told: [...known.told, ...newlyTold] },
	};

	function rowFor({ after: { id, programme_id, occurred_at_ms } }: MadeMove, stored: Credit): StoredCredit {
		return { ...rowOfCredit(stored), conversion_id: id, programme_id, sold_at_ms: occurred_at_ms };
	}
}

function creditedBy(
	partnerships: KnownPartnerships,
	credit: Credit | undefined,
): CreditablePartnership | undefined {
	const id = credit?.partnershipId ?? null;
	if (id === null) return undefined;
	const partnership = partnerships.find(id);
	if (partnership === undefined) throw new Error("a credited partnership was not read");
	return partnership;
}

/**
 * Returns the columns of a move that name the partner who loses the conversion, with the commission that is lost, and the
 * partner who gets it.
 */
function partnersOf({ move, before, knownBefore, known }: MadeMove): Partial<NewMove> {
	const [loser, winner] = [knownBefore.credited, known.credited];
	if (move !== "credit" || before === null || loser?.partner_id === winner?.partner_id) return {};
	const lost =
		loser === undefined ? {} : { lost_partner_id: loser.partner_id, lost_commission: before.commission };
	return { ...lost, gained_partner_id: winner?.partner_id ?? null };
}
