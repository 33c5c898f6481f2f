// Partners of the simulated shops, and the click ids and coupon codes that reports carry: good, bad, old, of another
// programme, two at once, none. Every programme has partners, and about half of them credit anybody.

import { type ClickSealer, createClickSealer } from "../../src/domain/click-token.ts";
import { foldCode, judgeCredit, readClickIds } from "../../src/domain/credit.ts";
import { SEALING_IV_BYTES } from "../../src/domain/sealing.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { insertCode, insertPartner, insertPartnership } from "../../src/store/queries/partners.ts";
import { updateProgramme } from "../../src/store/queries/programmes.ts";
import type { Db } from "../../src/store/store.ts";
import type { Act, Brought } from "../support/lifecycle-model.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Order } from "./order-ledger.ts";
import type { ProgrammeRecord } from "./programme-record.ts";

/** Empty where a report has none. */
export interface Signals {
	clickId: string;
	couponCode: string;
}

interface Partnership {
	id: number;
	code: string;
	/** Null: the programme's. */
	rate: string | null;
	isEnded: boolean;
}

export type Crediting = Awaited<ReturnType<typeof openCrediting>>;

const CREDITING_SHARE = 0.5;
/** A shop that says it again mostly says the same. */
const SAME_SHARE = 0.5;
const STRANGE_SHARE = 0.1;
const CLICK_DAYS = 7;
/** From the click to the sale: at either edge of the window, and of the tolerance for clocks. */
const AGES_MS = [
	MINUTE_MS,
	DAY_MS,
	CLICK_DAYS * DAY_MS,
	CLICK_DAYS * DAY_MS + 1,
	30 * DAY_MS,
	-5 * MINUTE_MS,
	-5 * MINUTE_MS - 1,
] as const;

export async function openCrediting(
	db: Db,
	programmes: readonly ProgrammeRecord[],
	random: SeededRandom,
	sealingKey: Uint8Array,
	nowMs: number,
) {
	const sealer: ClickSealer = createClickSealer(sealingKey);
	const partnershipsOf = new Map<ProgrammeRecord, readonly Partnership[]>();
	const saidOf = new WeakMap<Order, Signals>();
	for (const programme of programmes) {
		if (random.chance(CREDITING_SHARE)) {
			programme.terms.credits = { isBetter: () => false };
			await updateProgramme(db, programme.id, { credits_partners: 1, click_days: CLICK_DAYS });
		}
		partnershipsOf.set(programme, [
			await join(db, programme, { code: "Blog", rate: "9.8765", isEnded: false }, nowMs),
			await join(db, programme, { code: "News", rate: null, isEnded: false }, nowMs),
			await join(db, programme, { code: "Past", rate: "50.0000", isEnded: true }, nowMs),
		]);
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

	function drawSignals(programme: ProgrammeRecord, soldAtMs: number): Signals {
		const clicks = Array.from({ length: random.pick([0, 1, 1, 2]) }, () => drawClickId(programme, soldAtMs));
		const couponCode = random.pick(["", "", "BLOG", "news", "past", "unknown"]);
		return { clickId: clicks.join("."), couponCode };
	}

	/** As the signed call reads it. */
	function read({ clickId, couponCode }: Signals) {
		const clicks = clickId === "" ? [] : readClickIds(clickId).map(sealer.open);
		return { clicks, couponCode: couponCode || undefined };
	}

	function judge(programme: ProgrammeRecord, signals: Signals, soldAtMs: number): Brought {
		const { clicks, couponCode } = read(signals);
		const partnerships = partnershipsOf.get(programme) ?? [];
		const byCode = partnerships.find(
			({ code, isEnded }) => !isEnded && foldCode(code) === couponCode?.toUpperCase(),
		);
		const credit = judgeCredit({
			clicks,
			codePartnershipId: couponCode === undefined ? undefined : (byCode?.id ?? null),
			programmeId: programme.id,
			soldAtMs,
			windowDays: CLICK_DAYS,
		});
		const { commissionRate, feeRate } = programme.terms;
		if (credit.partnershipId === null) return { credit, commissionRate: "0", feeRate: "0" };
		const own = partnerships.find(({ id }) => id === credit.partnershipId)?.rate;
		return { credit, commissionRate: own ?? commissionRate, feeRate };
	}

	return {
		read,
		/** What a report says of who brought the sale, and who that is. Anything else says nothing of it. */
		bring(order: Order, act: Act, nowMs: number): { act: Act; signals: Signals } {
			if (act.kind !== "report") return { act, signals: { clickId: "", couponCode: "" } };
			const soldAtMs = act.occurredAtMs ?? nowMs;
			const said = random.chance(SAME_SHARE) ? saidOf.get(order) : undefined;
			const signals = said ?? drawSignals(order.programme, soldAtMs);
			saidOf.set(order, signals);
			return { act: { ...act, brought: judge(order.programme, signals, soldAtMs) }, signals };
		},
	};
}

async function join(
	db: Db,
	programme: ProgrammeRecord,
	{ code, rate, isEnded }: Omit<Partnership, "id">,
	nowMs: number,
): Promise<Partnership> {
	const named = `${code} of ${programme.id}`;
	const partner = await insertPartner(db, { public_id: named, name: named, site: "", created_at_ms: nowMs });
	const partnership = await insertPartnership(db, {
		public_id: named,
		programme_id: programme.id,
		partner_id: partner.id,
		commission_rate: rate,
		terms: "",
		created_at_ms: nowMs,
		ended_at_ms: isEnded ? nowMs : null,
	});
	if (partnership === undefined) throw new Error(`${named} was there already`);
	await insertCode(db, {
		programme_id: programme.id,
		folded: foldCode(code),
		code,
		partnership_id: partnership.id,
		created_at_ms: nowMs,
	});
	return { id: partnership.id, code, rate, isEnded };
}
