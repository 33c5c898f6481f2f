// Who conversions are credited to.

import type { Status } from "../../domain/conversion.ts";
import type { FoundPartnership, HotWrites } from "../hot-writes.ts";
import type { Db } from "../store.ts";
import type { StoredCredit } from "../tables/partners.ts";
import { joinHalves, sumOf } from "./conversion-tally.ts";
import { listPartnerships, type NamedPartnership } from "./partners.ts";

export type { StoredCredit } from "../tables/partners.ts";

/** What a report may be credited by. */
export interface Signals {
	programmeId: number;
	/** As it is compared; null where none was sent. */
	code: string | null;
	/** The partnerships of its clicks: asked for only where the code is nobody's, which goes before them. */
	openClicks(): readonly number[];
}

export interface KnownPartnerships {
	/** The active partnership that a code belongs to; null for a code of nobody. */
	ofCode(programmeId: number, code: string): number | null;
	find(partnershipId: number | undefined): FoundPartnership | undefined;
}

/** For a batch of reports, however many; nothing is read where none has a signal. */
export async function readPartnerships(
	db: Db,
	writes: Pick<HotWrites, "findPartnerships">,
	signals: readonly Signals[],
): Promise<KnownPartnerships> {
	const asked = signals.flatMap(({ programmeId, code }) =>
		code === null ? [] : [[`${programmeId} ${code}`, { programme_id: programmeId, folded: code }] as const],
	);
	const ofCodes = await writes.findPartnerships(db, [...new Map(asked).values()], []);
	const codes = new Map(ofCodes.map(({ programme_id, folded, id }) => [`${programme_id} ${folded}`, id]));
	const ofCode = (programmeId: number, code: string | null) => codes.get(`${programmeId} ${code}`) ?? null;
	const ids = new Set(
		signals.flatMap((own) => (ofCode(own.programmeId, own.code) === null ? own.openClicks() : [])),
	);
	const ofClicks = await writes.findPartnerships(db, [], [...ids]);
	const byId = new Map<number | undefined, FoundPartnership>(
		[...ofCodes, ...ofClicks].map((own) => [own.id, own]),
	);
	return { ofCode, find: (partnershipId) => byId.get(partnershipId) };
}

export async function findCredits(
	db: Db,
	conversionIds: readonly number[],
): Promise<ReadonlyMap<number, StoredCredit>> {
	if (conversionIds.length === 0) return new Map();
	const rows = await db
		.selectFrom("credits")
		.selectAll()
		.where("conversion_id", "in", conversionIds)
		.execute();
	return new Map(rows.map((row) => [row.conversion_id, row]));
}

export interface NamedCredit extends StoredCredit {
	/** Null: nobody. */
	partnership: NamedPartnership | null;
}

export async function findNamedCredits(
	db: Db,
	conversionIds: readonly number[],
): Promise<ReadonlyMap<number, NamedCredit>> {
	const credits = await findCredits(db, conversionIds);
	const ids = [...new Set([...credits.values()].flatMap((credit) => credit.partnership_id ?? []))];
	const partnerships = new Map((await listPartnerships(db, "id", ids)).map((own) => [own.id, own]));
	return new Map(
		[...credits].map(([id, credit]) => {
			const partnership = partnerships.get(credit.partnership_id ?? 0) ?? null;
			return [id, { ...credit, partnership }];
		}),
	);
}

export interface PartnershipTotal {
	partnershipId: number;
	status: Status;
	currency: string;
	count: number;
	/** In minor units of the currency. */
	basketMinor: bigint;
	commissionMinor: bigint;
}

/** Sold in the span, tests left out: what each partnership earned, by status. */
export async function sumByPartnership(
	db: Db,
	{
		fromMs,
		beforeMs,
		partnershipIds,
	}: { fromMs: number; beforeMs: number; partnershipIds: readonly number[] },
): Promise<PartnershipTotal[]> {
	if (partnershipIds.length === 0) return [];
	const rows = await db
		.selectFrom("credits")
		.innerJoin("conversions", "conversions.id", "credits.conversion_id")
		.select((eb) => [
			"credits.partnership_id",
			"conversions.status",
			"conversions.currency",
			eb.fn.countAll<number>().as("count"),
			...sumOf("basket_value"),
			...sumOf("commission"),
		])
		.where("credits.partnership_id", "in", partnershipIds)
		.where("credits.sold_at_ms", ">=", fromMs)
		.where("credits.sold_at_ms", "<", beforeMs)
		.where("conversions.test", "=", 0)
		.groupBy(["credits.partnership_id", "conversions.status", "conversions.currency"])
		.execute();
	return rows.map((row) => ({
		partnershipId: row.partnership_id ?? 0,
		status: row.status,
		currency: row.currency,
		count: row.count,
		basketMinor: joinHalves(row.basket_value_high, row.basket_value_low),
		commissionMinor: joinHalves(row.commission_high, row.commission_low),
	}));
}
