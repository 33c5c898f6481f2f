// Simulates partners of the shops, and the click IDs and coupon codes in sale reports. These are valid, invalid, old,
// of another programme, two at once, or missing. Every programme has partners, and about half of the programmes credit
// them. A partner takes part in all programmes, so that its account has entries of several programmes and currencies.

import type { KeyRing } from "#core/domain/key-ring.ts";
import { SEALING_IV_BYTES } from "#core/domain/sealing.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import { createClickSealer } from "#modules/partners/domain/click-token.ts";
import {
	type Credit,
	compareCredits,
	judgeCredit,
	NOBODY,
	readClickIds,
} from "#modules/partners/domain/credit.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { setProgramme } from "../support/change-rows.ts";
import { START_MS } from "../support/clock.ts";
import type { Act, Brought, MoneyAct } from "../support/lifecycle-model.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Order } from "./order-ledger.ts";
import { findAt, type ProgrammeRecord } from "./programme-record.ts";

type Assignment = Extract<MoneyAct, { kind: "assign" }>;
type Signals = Pick<Extract<Act, { kind: "report" }>, "openClicks" | "couponCodes">;

/**
 * Partners of every programme. A partner without a rate has the programme's rate. After a partnership has
 * ended, its clicks still count, but its coupon code does not.
 */
const PARTNERS = [
	{ code: "BLOG", rate: "9.8765", isEnded: false },
	{ code: "NEWS", rate: null, isEnded: false },
	{ code: "PAST", rate: "50.0000", isEnded: true },
] as const;
interface Partnership {
	code: (typeof PARTNERS)[number]["code"];
	isEnded: boolean;
	id: number;
	partnerId: number;
	publicId: string;
	/** Commissions in the order of time. Null stands for the programme's own commission. */
	rates: { fromMs: number; rate: string | null }[];
}

export type Crediting = Awaited<ReturnType<typeof openCrediting>>;

const CREDITING_SHARE = 0.5;
/** Share of repeated reports that carry the same click IDs and coupon code as the first report. */
const SAME_SHARE = 0.5;
const STRANGE_SHARE = 0.1;
const CLICK_DAYS = 7;
const WINDOW_MS = CLICK_DAYS * DAY_MS;
const TOLERANCE_MS = 5 * MINUTE_MS;
/** Times from the click to the sale. They are within the window, beyond it, and at both edges. */
const AGES_MS = [MINUTE_MS, DAY_MS, WINDOW_MS, WINDOW_MS + 1, 30 * DAY_MS, -TOLERANCE_MS, -TOLERANCE_MS - 1];

export async function openCrediting(
	db: Db,
	programmes: readonly ProgrammeRecord[],
	random: SeededRandom,
	keyRing: KeyRing,
	/** True if every programme credits its partners. */
	isForAll: boolean,
) {
	const sealer = createClickSealer(keyRing);
	const partnershipsOf = new Map<ProgrammeRecord, readonly Partnership[]>();
	const saidOf = new WeakMap<Order, Signals>();
	const partnerIds = await addPartners(db);
	for (const programme of programmes) {
		partnershipsOf.set(programme, await joinPartners(db, programme.id, partnerIds));
		if (!random.chance(CREDITING_SHARE) && !isForAll) continue;
		programme.terms.isBetter = (candidate, current) => compareCredits(candidate, current) < 0;
		await setProgramme(db, programme.id, { credits_partners: 1, click_days: CLICK_DAYS });
	}

	function drawClickId(programme: ProgrammeRecord, soldAtMs: number): string {
		const clicked = random.chance(STRANGE_SHARE) ? random.pick(programmes) : programme;
		const click = {
			programmeId: clicked.id,
			partnershipId: random.pick(partnershipsOf.get(clicked) ?? []).id,
			linkId: random.between(1, 3),
			atMs: soldAtMs - random.pick(AGES_MS),
			subIds: [random.pick(["", "top"]), "", "ö"],
		} as const;
		const token = sealer.seal(click, random.bytes(SEALING_IV_BYTES));
		return random.chance(STRANGE_SHARE) ? `${token.slice(0, -1)}!` : token;
	}

	/** Draws click IDs and coupon codes. Click IDs are decoded in the same way as in the signed API. */
	function drawSignals(programme: ProgrammeRecord, soldAtMs: number): Signals {
		const ids = Array.from({ length: random.pick([0, 1, 1, 2]) }, () => drawClickId(programme, soldAtMs));
		return {
			openClicks: ids.length === 0 ? undefined : () => readClickIds(ids.join(".")).map(sealer.open),
			couponCodes: random.pick([[], [], ["Blog"], ["news"], ["PAST"], ["unknown", "Blog"]]),
		};
	}

	function judge(
		programme: ProgrammeRecord,
		{ openClicks, couponCodes = [] }: Signals,
		soldAtMs: number,
		ratedAtMs: number,
	): Brought {
		const partnerships = partnershipsOf.get(programme) ?? [];
		const [byCode] = couponCodes.flatMap((sent) =>
			partnerships.filter(({ code, isEnded }) => !isEnded && code === sent.toUpperCase()),
		);
		const credit = judgeCredit({
			clicks: openClicks?.() ?? [],
			codePartnershipId: couponCodes.length === 0 ? undefined : (byCode?.id ?? null),
			programmeId: programme.id,
			soldAtMs,
			windowDays: CLICK_DAYS,
			clicksEndMs: () => null,
		});
		return bring(programme, credit, ratedAtMs);
	}

	/** Returns the credit with the commission that its partner had at a time. */
	function bring({ terms }: ProgrammeRecord, credit: Credit, atMs: number): Brought {
		const partnership = partnershipWith(credit.partnershipId);
		if (partnership === undefined) return { credit, commissionRate: "0" };
		const own = findAt(partnership.rates, atMs).rate;
		return { credit, commissionRate: own ?? terms.ratesAt(atMs).commissionRate };
	}

	function partnershipWith(id: number | null): Partnership | undefined {
		return [...partnershipsOf.values()].flat().find((partnership) => partnership.id === id);
	}

	return {
		partnerIds: [...partnerIds.values()],
		partners: [...partnerIds].map(([code, id]) => ({ id, publicId: `ptn_${code}` })),
		partnershipsOf: (programme: ProgrammeRecord) => partnershipsOf.get(programme) ?? [],
		/** Returns the partner to whom a credit gives the conversion, or undefined for nobody. */
		partnerOf: ({ partnershipId }: Credit) => partnershipWith(partnershipId)?.partnerId,
		/** Draws the name of a partner to whom staff assign a conversion, or nobody. */
		drawAssignment(programme: ProgrammeRecord): Pick<Assignment, "partner" | "bring"> {
			const present = (partnershipsOf.get(programme) ?? []).filter(({ isEnded }) => !isEnded);
			const chosen = random.pick([...present, ...present, undefined]);
			const credit = { ...NOBODY, partnershipId: chosen?.id ?? null, word: "ASSIGNED" } as const;
			return { partner: chosen?.code ?? "", bring: (ratedAtMs) => bring(programme, credit, ratedAtMs) };
		},
		/** Adds click IDs and a coupon code to a report. */
		complete(order: Order, act: Act, nowMs: number): Act {
			if (act.kind !== "report") return act;
			const said = random.chance(SAME_SHARE) ? saidOf.get(order) : undefined;
			const signals = said ?? drawSignals(order.programme, act.occurredAtMs ?? nowMs);
			saidOf.set(order, signals);
			return { ...act, ...signals, bring: (...times) => judge(order.programme, signals, ...times) };
		},
	};
}

/** Adds the partners. Returns their ids by their codes. */
async function addPartners(db: Db): Promise<Map<string, number>> {
	const ids = new Map<string, number>();
	for (const { code } of PARTNERS) {
		const columns = { public_id: `ptn_${code}`, created_at_ms: 0, name: code, site: "" };
		ids.set(code, (await insertPartner(db, columns)).id);
	}
	return ids;
}

async function joinPartners(
	db: Db,
	programmeId: number,
	partnerIds: ReadonlyMap<string, number>,
): Promise<Partnership[]> {
	const joined: Partnership[] = [];
	for (const partner of PARTNERS) {
		const { code, rate, isEnded } = partner;
		const partnerId = partnerIds.get(code) ?? 0;
		const publicId = `${code} ${programmeId}`;
		const partnership = await insertPartnership(db, {
			public_id: publicId,
			created_at_ms: 0,
			programme_id: programmeId,
			partner_id: partnerId,
			commission_rate: rate,
			terms: "",
			ended_at_ms: isEnded ? START_MS : null,
		});
		if (partnership === undefined) throw new Error("a new partner had a partnership");
		const { id } = partnership;
		const named = { programme_id: programmeId, folded: code, code, partnership_id: id };
		await insertCode(db, { ...named, created_at_ms: START_MS });
		joined.push({ code, isEnded, id, partnerId, publicId, rates: [{ fromMs: 0, rate }] });
	}
	return joined;
}
