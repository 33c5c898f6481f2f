// Tests that a batch of requests has the same effect as its requests one by one, on both databases. Two programmes are
// twins. One gets each batch as a whole, and the other gets the same requests in transactions of their own. Their answers
// and their rows must be equal, apart from ids.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { changeOrders } from "#core/conversions/change-orders.ts";
import { decisionRequest } from "#core/conversions/decide.ts";
import type { Decided } from "#core/conversions/deps.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import { reportRequest } from "#core/conversions/record.ts";
import type { Report } from "#core/conversions/report.ts";
import { IMPORTED_STATUSES, REASONS } from "#core/domain/conversion.ts";
import type { Result } from "#core/domain/fault.ts";
import { ALL_EVENTS } from "#core/domain/receiver.ts";
import { orderIdOf } from "#core/store/queries/conversions.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Owed } from "#core/store/queries/queue.ts";
import { insertPartnerReceiver, lockPartnerReceiver, setEndpoint } from "#core/store/queries/receivers.ts";
import { insertSecret } from "#core/store/queries/signing-secrets.ts";
import type { Store } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { refundRequest } from "#modules/refunds/use-cases/refund.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { setProgramme } from "../support/change-rows.ts";
import { createClock } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { isLong } from "../support/proof.ts";
import { addProgramme, newId, newSecret } from "../support/rows.ts";

const SEED = 20_261_119;
/** Number of walks. Each walk has several batches. */
const WALKS = isLong ? 600 : 70;
const MAX_BATCHES = 5;
const MAX_REQUESTS = 4;
const DAY_MS = 86_400_000;
const CLICK_DAYS = 30;
const OLD_MS = Date.UTC(2025, 11, 24);

/** Partners of both twins. One gets all events and sees baskets, one chose two events, and one has no endpoint. */
const PARTNERS = [
	{ code: "ALL", rate: "10", events: ALL_EVENTS },
	{ code: "SOME", rate: null, events: "conversion.approved conversion.reversed" },
	{ code: "NONE", rate: "25", events: null },
] as const;

interface Partnership {
	id: number;
	linkId: number;
}

interface Twin {
	programme: Programme;
	partnerships: readonly Partnership[];
}

type Request = OrderRequest<Decided<string> | null>;

/** A request without the programme that gets it. */
interface Drawn {
	what: string;
	requestFor(twin: Twin, orderIdOf: (order: string) => string): Request;
}

const deps = { clock: createClock(), random: createRandom(), changes: CHANGES };

const ANY_SALE = fc.record({
	order: fc.constantFrom("A", "A", "A", "B"),
	eventType: fc.constantFrom("SALE" as const, "SALE" as const, "SALE" as const, "LEAD" as const),
});
/** Sale of a batch in which all requests are about the same sale. */
const ONE_SALE = fc.constant({ order: "A", eventType: "SALE" as const });
type Sale = typeof ANY_SALE | typeof ONE_SALE;
const REASON = fc.constantFrom(...REASONS);
const AMOUNT = fc.integer({ min: 1, max: 9_999 }).map((cents) => (cents / 100).toFixed(2));

interface DrawnClick {
	partner: number;
	agoMs: number;
	subId: string;
}

/** A click on the link of one of the partners, or null for a click ID that cannot be decrypted. */
const CLICK: fc.Arbitrary<DrawnClick | null> = fc.option(
	fc.record({
		partner: fc.nat({ max: PARTNERS.length - 1 }),
		agoMs: fc.constantFrom(1_000, 2_000, DAY_MS, (CLICK_DAYS + 1) * DAY_MS),
		subId: fc.constantFrom("", "top"),
	}),
	{ freq: 8 },
);
const CLICKS = fc.array(CLICK, { minLength: 1, maxLength: 2 });
const CODES: fc.Arbitrary<readonly string[]> = fc.constantFrom(
	["all"],
	["Some"],
	["NONE"],
	["unknown"],
	["unknown", "all"],
);
const NO_CODE = fc.constant<readonly string[]>([]);

interface DrawnSignals {
	codes: fc.Arbitrary<readonly string[]>;
	clicks: fc.Arbitrary<readonly (DrawnClick | null)[] | null>;
}

const drawReport = (about: Sale, from: fc.Arbitrary<Report["source"]>, signals: DrawnSignals) =>
	fc
		.record({
			...signals,
			about,
			source: from,
			basketValue: AMOUNT,
			occurredAtMs: fc.option(fc.constant(OLD_MS), { freq: 1 }),
			// Few reports are tests, because tests do not change the other reports of their orders.
			isTest: fc.nat({ max: 9 }).map((drawn) => drawn === 0),
		})
		.map(({ about: { order, eventType }, source, codes, clicks, isTest, ...sale }): Drawn => {
			const report = { ...sale, eventType, source, isTest: isTest || source === "test" };
			return {
				what: JSON.stringify({ order, ...report, codes, clicks }),
				requestFor({ programme, partnerships }, nameOf) {
					const openClicks = () =>
						(clicks ?? []).map((click) => {
							const partnership = partnerships[click?.partner ?? 0];
							if (click === null || partnership === undefined) return null;
							return {
								programmeId: programme.id,
								partnershipId: partnership.id,
								linkId: partnership.linkId,
								atMs: (sale.occurredAtMs ?? deps.clock.nowMs()) - click.agoMs,
								subIds: [click.subId, "", "ö"] as const,
							};
						});
					const isSigned = source !== "pixel";
					const complete: Report = {
						...report,
						orderId: nameOf(order),
						occurredAtMs: isSigned ? sale.occurredAtMs : null,
						...(isSigned ? { couponCodes: codes } : {}),
						openClicks: isSigned && clicks !== null ? openClicks : undefined,
					};
					return reportRequest(deps, programme, complete);
				},
			};
		});

const drawDecision = (about: Sale) =>
	fc
		.record({
			about,
			move: fc.constantFrom("approve", "approve", "approve", "reject", "reverse"),
			reason: REASON,
		})
		.map(({ about: { order, eventType }, move, reason }): Drawn => {
			const decided = { decidedBy: "shop" } as const;
			const decision = move === "approve" ? { move, ...decided } : { move, reason, ...decided };
			return {
				what: JSON.stringify({ order, eventType, move, reason }),
				requestFor: ({ programme }, nameOf) =>
					decisionRequest(programme, { orderId: nameOf(order), eventType }, decision),
			};
		});

const drawRefund = (about: Sale) =>
	fc
		.record({
			about,
			refundId: fc.constantFrom("r1", "r2", "r3", "r4"),
			value: fc.oneof(
				fc.constantFrom(
					{ amount: "0.01" },
					{ amount: "1.00" },
					{ basketValue: "0.50" },
					{ basketValue: "0" },
				),
				fc.constantFrom({ amount: "0.02" }, { amount: "0.30" }, { amount: "2.00" }),
				AMOUNT.map((amount) => ({ amount })),
			),
			reason: REASON,
		})
		.map(
			({ about: { order, eventType }, ...refund }): Drawn => ({
				what: JSON.stringify({ order, eventType, ...refund }),
				requestFor: ({ programme }, nameOf) =>
					refundRequest(
						programme,
						{ orderId: nameOf(order), eventType },
						{ move: "refund", decidedBy: "shop", ...refund },
					),
			}),
		);

/** An import of history. An order that is already stored does not change. */
const IMPORT = fc.record({ about: ANY_SALE, status: fc.constantFrom(...IMPORTED_STATUSES) }).map(
	({ about: { order, eventType }, status }): Drawn => ({
		what: JSON.stringify({ order, eventType, imported: status }),
		requestFor: ({ programme }, nameOf) => ({
			...{ programmeId: programme.id, orderId: nameOf(order), eventType, mayChange: () => false },
			judge: (present) =>
				present === null
					? {
							kind: "move",
							step: {
								...{ move: "import", decidedBy: "review", reason: null },
								sale: {
									...{ public_id: newId("cnv"), programme_id: programme.id, order_id: nameOf(order) },
									...{ event_type: eventType, status, basket_value: "80.00", commission: "8.00" },
									...{ network_fee: "1.00", currency: "EUR", source: "import", occurred_at_ms: OLD_MS },
									...{ test: 0, decided_at_ms: status === "RECORDED" ? null : OLD_MS },
								},
							},
							done: () => null,
						}
					: { kind: "answer", result: { ok: true, value: null } },
		}),
	}),
);

const SIGNED = fc.constant("postback" as const);
const ANY_SOURCE = fc.constantFrom(
	"postback" as const,
	"postback" as const,
	"pixel" as const,
	"test" as const,
);
const ANY_SIGNALS = { codes: fc.oneof(NO_CODE, CODES), clicks: fc.option(CLICKS) };
const BY_CLICK = { codes: NO_CODE, clicks: CLICKS };
const BY_CODE = { codes: CODES, clicks: fc.constant(null) };

const ANY_REQUEST = fc.oneof(
	{ weight: 3, arbitrary: drawReport(ANY_SALE, ANY_SOURCE, ANY_SIGNALS) },
	{ weight: 2, arbitrary: drawDecision(ANY_SALE) },
	{ weight: 2, arbitrary: drawRefund(ANY_SALE) },
	{ weight: 1, arbitrary: IMPORT },
);
const ANY_CHANGE = fc.oneof(
	drawReport(ONE_SALE, SIGNED, BY_CODE),
	drawDecision(ONE_SALE),
	drawRefund(ONE_SALE),
);
/** A batch of requests of any kind, of better credits for one sale, or of refunds of one sale. */
const BATCH = fc.oneof(
	fc.array(ANY_REQUEST, { minLength: 1, maxLength: MAX_REQUESTS }),
	fc.tuple(
		drawReport(ONE_SALE, SIGNED, BY_CLICK),
		drawReport(ONE_SALE, SIGNED, BY_CODE),
		ANY_CHANGE,
		ANY_CHANGE,
	),
	fc.tuple(drawRefund(ONE_SALE), drawRefund(ONE_SALE), ANY_CHANGE),
);
const WALK = fc.array(BATCH, { minLength: 1, maxLength: MAX_BATCHES });

eachDatabase("a batch of requests", (database) => {
	const twins: Record<"parking" | "recording", readonly [Twin, Twin]>[] = [];
	let walks = 0;
	const met = new Set<string>();

	before(async () => {
		const { store } = database;
		const partners: Partner[] = [];
		for (const { code, events } of PARTNERS) partners.push(await addPartner(store, code, events));
		const open = (change: object) => openTwin(store, partners, change);
		twins.push({
			parking: [await open({ parks_pixels: 1 }), await open({ parks_pixels: 1 })],
			recording: [
				await open({ parks_pixels: 0, shows_baskets: 1 }),
				await open({ parks_pixels: 0, shows_baskets: 1 }),
			],
		});
	});

	test(`${WALKS} walks of up to ${MAX_BATCHES} batches give the same answers and rows as their requests one by one`, async (t) => {
		t.diagnostic(`seed ${SEED}`);
		const walk = fc.asyncProperty(
			fc.constantFrom("parking" as const, "recording" as const),
			WALK.map((batches) => ({ batches, toString: () => describeWalk(batches) })),
			async (kind, { batches }) => compareTwins(twins[0]?.[kind], batches),
		);
		await fc.assert(walk, { seed: SEED, numRuns: WALKS, endOnFailure: false });
		// Each of these outcomes must have happened in some walk. Otherwise the walks would prove little.
		for (const word of ["RECORDED", "PARKED", "CONFIRMED", "DUPLICATE", "APPROVED", "REJECTED", "REVERSED"])
			ok(met.has(word), `no answer was ${word}`);
		for (const word of ["REFUNDED", "unknown_order", "move_not_allowed", "refund_id_used", "not_confirmed"])
			ok(met.has(word), `no answer was ${word}`);
		for (const rows of ["record", "credit", "refund", "import", "a kept body", "a told partner", "an entry"])
			ok(met.has(rows), `no walk had ${rows}`);
	});

	async function compareTwins(
		pair: readonly [Twin, Twin] | undefined,
		batches: readonly (readonly Drawn[])[],
	): Promise<void> {
		ok(pair !== undefined);
		const [together, apart] = pair;
		const prefix = `walk ${++walks} `;
		const nameOf = (order: string) => prefix + order;
		for (const batch of batches) {
			await deps.clock.moveBy(60_000);
			const whole = await change(batch.map((drawn) => drawn.requestFor(together, nameOf)));
			const single: Awaited<ReturnType<typeof change>>[] = [];
			for (const drawn of batch) single.push(await change([drawn.requestFor(apart, nameOf)]));
			const answers = single.flatMap(({ results }) => results.map(readAnswer));
			for (const { word } of answers) met.add(word);
			deepEqual(whole.results.map(readAnswer), answers);
			await compareIds(whole);
			for (const one of single) await compareIds(one);
		}
		deepEqual(await readRows(together, prefix), await readRows(apart, prefix));
	}

	function change(requests: readonly Request[]) {
		const { store } = database;
		return store.transact((trx) => changeOrders(trx, { ...deps, store }, requests));
	}

	/** Checks that answers and announced deliveries have the ids of the stored rows. */
	async function compareIds({ results, owed }: { results: readonly Result<unknown>[]; owed: Owed }) {
		const { db } = database.store;
		for (const result of results) {
			const decided = result.ok ? (result.value as Decided<string> | null) : null;
			if (decided === null) continue;
			const { id, public_id } = decided.conversion;
			const stored = db.selectFrom("conversions").select("public_id").where("id", "=", id);
			equal((await stored.executeTakeFirst())?.public_id, public_id);
		}
		const deliveries = owed.ready?.deliveries ?? [];
		for (const { id, eventBody, receiverId } of deliveries) {
			const event = db.selectFrom("events").select(["body", "receiver_id"]).where("id", "=", id);
			deepEqual(await event.executeTakeFirst(), { body: eventBody, receiver_id: receiverId });
		}
	}

	/** Returns the rows of a walk, in which names replace the ids. */
	async function readRows({ programme, partnerships }: Twin, prefix: string) {
		const { db } = database.store;
		const conversions = await db
			.selectFrom("conversions")
			.selectAll()
			.where("programme_id", "=", programme.id)
			.where("order_id", "like", `${prefix}%`)
			.orderBy("id")
			.execute();
		const ids = conversions.map(({ id }) => id);
		const of = <Table extends "moves" | "refunds" | "entries" | "credits" | "events">(table: Table) =>
			db
				.selectFrom(table as "moves")
				.selectAll()
				.where("conversion_id", "in", [0, ...ids])
				.execute() as Promise<Record<string, unknown>[]>;
		const [moves, refunds, entries, credits, events] = [
			byId(await of("moves")),
			byId(await of("refunds")),
			byId(await of("entries")),
			await of("credits"),
			byId(await of("events")),
		];
		const open = await db.selectFrom("open_entries").select("entry_id").execute();
		const openIds = new Set(open.map(({ entry_id }) => entry_id));
		const queued = await db.selectFrom("queue").selectAll().execute();
		const queueOf = new Map<unknown, object>(queued.map((row) => [row.id, row]));
		for (const { move, announced_body } of moves) {
			met.add(String(move));
			if (announced_body !== null) met.add("a kept body");
		}
		if (entries.length > 0) met.add("an entry");
		if (events.some(({ receiver_id }) => receiver_id !== programme.receiver_id)) met.add("a told partner");
		const text = JSON.stringify({
			conversions: conversions.map((row) => ({ ...row, order_id: orderIdOf(row), order: row.order_id })),
			moves,
			refunds,
			credits: credits.toSorted((a, b) => Number(a["conversion_id"]) - Number(b["conversion_id"])),
			entries: entries.map((row) => ({ ...row, isOpen: openIds.has(Number(row["id"])) })),
			events: events.map((row) => ({ ...row, queued: queueOf.get(row["id"]) })),
		});
		const names = new Map([
			[programme.public_id, "programme"],
			...conversions.map(({ public_id }, index) => [public_id, `conversion ${index}`] as const),
			...PARTNERS.map(({ code }) => [`${code}-${programme.id}`, `link ${code}`] as const),
		]);
		const named = text.replaceAll(/(?:prg|cnv)_\w+|(?:ALL|SOME|NONE)-\d+/g, (id) => names.get(id) ?? id);
		return JSON.parse(named, (key, value: unknown) => {
			if (HIDDEN.includes(key)) return undefined;
			if (key === "conversion_id") return `conversion ${ids.indexOf(Number(value))}`;
			if (key === "receiver_id" && value === programme.receiver_id) return "shop";
			if (key === "partnership_id" || key === "first_partnership_id")
				return value === null ? null : partnerships.findIndex(({ id }) => id === value);
			if (key === "link_id")
				return value === null ? null : partnerships.findIndex(({ linkId }) => linkId === value);
			return value;
		});
	}
});

/** Columns whose values always differ: ids, and what the database computes from them. */
const HIDDEN: readonly string[] = [
	...["id", "public_id", "programme_id", "transaction", "list_key", "list_kind"],
	...["statement_id", "client"],
];

function byId(rows: Record<string, unknown>[]): Record<string, unknown>[] {
	return rows.toSorted((a, b) => Number(a["id"]) - Number(b["id"]));
}

/** Returns the outcome word of an answer, and its fields without ids. */
function readAnswer(result: Result<Decided<string> | null>): { word: string } & Record<string, unknown> {
	if (!result.ok) return { ...result.fault, word: result.fault.code };
	if (result.value === null) return { word: "imported" };
	const { outcome, conversion, refund, ...others } = result.value;
	const { id: _, public_id: __, programme_id: ___, order_id: ____, ...row } = conversion;
	const { first_partnership_id, ...columns } = row;
	const shown = Object.entries(columns).filter(([column]) => !HIDDEN.includes(column));
	return {
		...others,
		...Object.fromEntries(shown),
		word: outcome,
		refund: refund && [refund.refund_id, refund.amount, refund.basket_value, refund.reason, refund.at_ms],
		hadPartner: first_partnership_id !== null,
	};
}

function describeWalk(batches: readonly (readonly Drawn[])[]): string {
	return batches.map((batch) => batch.map(({ what }) => what).join("\n")).join("\n--\n");
}

async function addPartner(store: Store, code: string, events: string | null): Promise<Partner> {
	const nowMs = deps.clock.nowMs();
	const partner = await insertPartner(store.db, {
		...{ public_id: newId("ptn"), name: code, site: "", created_at_ms: nowMs },
	});
	if (events === null) return partner;
	await store.transact(async (trx) => {
		await insertPartnerReceiver(trx, partner.id);
		const receiver = await lockPartnerReceiver(trx, partner.id);
		ok(receiver !== undefined);
		const endpoint = { url: `https://${code.toLowerCase()}.example/hook`, form: "json", events } as const;
		await setEndpoint(trx, receiver, endpoint, nowMs);
		await insertSecret(trx, newSecret(receiver.receiver_id));
	});
	return partner;
}

async function openTwin(store: Store, partners: readonly Partner[], change: object): Promise<Twin> {
	const { id, public_id } = await addProgramme(store);
	const nowMs = deps.clock.nowMs();
	const partnerships: Partnership[] = [];
	for (const [index, partner] of partners.entries()) {
		const { code = "", rate = null } = PARTNERS[index] ?? {};
		const partnership = await insertPartnership(store.db, {
			...{ public_id: newId("pts"), programme_id: id, partner_id: partner.id },
			...{ commission_rate: rate, terms: "", created_at_ms: 0 },
		});
		ok(partnership !== undefined);
		const own = { partnership_id: partnership.id, created_at_ms: nowMs };
		await insertCode(store.db, { ...own, programme_id: id, folded: code, code });
		const target = "https://shop.example/";
		const link = await insertPartnerLink(store.db, { ...own, code: `${code}-${id}`, name: "", target });
		ok(link !== undefined);
		partnerships.push({ id: partnership.id, linkId: link.id });
	}
	await setProgramme(store.db, id, { credits_partners: 1, click_days: CLICK_DAYS, ...change });
	const programme = await findProgramme(store.db, public_id);
	ok(programme !== undefined);
	return { programme, partnerships };
}
