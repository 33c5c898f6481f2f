// Calls of the network's API about conversions of all programmes, and the feed of their changes.

import * as z from "zod";
import { UTC_TIME } from "#core/api/answer-fields.ts";
import { CONVERSION, conversionBody } from "#core/api/answers.ts";
import { exampleConversion } from "#core/api/openapi/examples.ts";
import { EXAMPLE_CURSOR, momentField, parseMoments } from "#core/api/sale-fields.ts";
import { EVENT_TYPES, type Move, STATUSES } from "#core/domain/conversion.ts";
import { readCursor, writeCursor } from "#core/domain/cursor.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { readOrderSearch } from "#core/domain/order-id.ts";
import { isoTime } from "#core/domain/time.ts";
import {
	BEFORE_ALL,
	hasReached,
	listNetworkMoves,
	type NetworkMove,
} from "#core/store/queries/announced-moves.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	listConversions,
} from "#core/store/queries/conversion-list.ts";
import { type Conversion, findConversionsById, findManyByPublicId } from "#core/store/queries/conversions.ts";
import { findProgrammesById, type Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { PARTNER_ID } from "#modules/partners/api/partner-id.ts";
import { CREDIT_WORDS } from "#modules/partners/domain/credit.ts";
import { findNamedCredits } from "#modules/partners/store/credits.ts";
import { findLinkCodes } from "#modules/partners/store/partner-links.ts";
import { pagePartnerships } from "#modules/partners/store/partnerships.ts";
import { REFUND, refundBody } from "#modules/refunds/api/refund-fields.ts";
import { listRefunds } from "#modules/refunds/store/refunds.ts";
import { EXAMPLE, PARTNERSHIP_ID, timeOrNull } from "./fields.ts";
import { foreignCursor, LIMIT, list, readPage } from "./list-route.ts";
import { findNamedPartner } from "./partner-calls.ts";
import { findNamed } from "./programme-calls.ts";
import { route, type TokenRoute } from "./route.ts";

const PATH = "/v1/network/conversions";

const CREDIT = z
	.strictObject({
		word: z.enum(CREDIT_WORDS).describe("Why the partner was credited, or why nobody was."),
		partnerId: PARTNER_ID.nullable(),
		partnershipId: PARTNERSHIP_ID.nullable(),
		linkCode: z.string().nullable().describe("The link that was clicked, if a click was credited."),
		clickedAt: UTC_TIME.nullable(),
		sub1: z.string(),
		sub2: z.string(),
		sub3: z.string(),
	})
	.meta({ id: "Credit", description: "Which partner brought the conversion." });

const EXAMPLE_CONVERSION = {
	...exampleConversion("conversion.recorded"),
	credit: {
		word: "CLICK" as const,
		partnerId: EXAMPLE.partnerId,
		partnershipId: EXAMPLE.partnershipId,
		linkCode: "summer",
		clickedAt: EXAMPLE.time,
		sub1: "newsletter",
		sub2: "",
		sub3: "",
	},
};

const NETWORK_CONVERSION = CONVERSION.extend({
	credit: CREDIT.nullable().describe("Null if the programme credits no partners."),
}).meta({
	id: "NetworkConversion",
	description: "A conversion as it is now, with its credit.",
	examples: [EXAMPLE_CONVERSION],
});

type NetworkConversion = z.output<typeof NETWORK_CONVERSION>;

async function showConversions(
	db: Db,
	conversions: readonly Conversion[],
): Promise<ReadonlyMap<number, NetworkConversion>> {
	const programmes = await findProgrammesById(db, [
		...new Set(conversions.map(({ programme_id }) => programme_id)),
	]);
	const credits = await findNamedCredits(
		db,
		conversions.map(({ id }) => id),
	);
	const codes = await findLinkCodes(
		db,
		[...credits.values()].flatMap(({ link_id }) => link_id ?? []),
	);
	const shown = conversions.map((conversion) => {
		const credit = credits.get(conversion.id);
		const body: NetworkConversion = {
			...conversionBody(conversion, requireProgramme(programmes, conversion.programme_id)),
			credit:
				credit === undefined
					? null
					: {
							word: credit.word,
							partnerId: credit.partnership?.partner_public_id ?? null,
							partnershipId: credit.partnership?.public_id ?? null,
							linkCode: codes.get(credit.link_id ?? 0) ?? null,
							clickedAt: timeOrNull(credit.clicked_at_ms),
							sub1: credit.sub_1,
							sub2: credit.sub_2,
							sub3: credit.sub_3,
						},
		};
		return [conversion.id, body] as const;
	});
	return new Map(shown);
}

function requireProgramme(programmes: ReadonlyMap<number, Programme>, id: number): Programme {
	const programme = programmes.get(id);
	if (programme === undefined) throw new Error("programmes are never deleted");
	return programme;
}

const FILTERS = {
	programId: z
		.string()
		.meta({ description: "Only conversions of this programme.", examples: [EXAMPLE.programmeId] })
		.optional(),
	partnerId: z
		.string()
		.meta({
			description:
				"Only conversions that are credited to this partner. The list is then in the order of the sales.",
			examples: [EXAMPLE.partnerId],
		})
		.optional(),
	status: z.enum(STATUSES).meta({ description: "Only conversions with this status now." }).optional(),
	eventType: z.enum(EVENT_TYPES).optional(),
	orderId: z
		.string()
		.meta({ description: "A part of the order ID, or a whole conversion ID.", examples: ["ORDER-1001"] })
		.optional(),
	test: z
		.enum(["true", "false"])
		.meta({ description: "`true` for test conversions only, `false` for others only. Both by default." })
		.optional(),
	recordedFrom: momentField("Only conversions that were recorded at this time or later.").optional(),
	recordedBefore: momentField("Only conversions that were recorded before this time.").optional(),
	occurredFrom: momentField(
		"Only sales at this time or later. It needs `programId` or `partnerId`.",
	).optional(),
	occurredBefore: momentField("Only sales before this time. It needs `programId` or `partnerId`.").optional(),
	decidedFrom: momentField(
		"Only conversions that were decided at this time or later. It needs `programId`.",
	).optional(),
	decidedBefore: momentField(
		"Only conversions that were decided before this time. It needs `programId`.",
	).optional(),
};

type Query = z.output<z.ZodObject<typeof FILTERS>>;
const SALE_MOMENTS = ["occurredFrom", "occurredBefore"] as const;
const DECISION_MOMENTS = ["decidedFrom", "decidedBefore"] as const;
const MOMENTS = ["recordedFrom", "recordedBefore", ...SALE_MOMENTS, ...DECISION_MOMENTS] as const;
type Moment = (typeof MOMENTS)[number];

/** Maximum number of partnerships that a filter may match, as on the page of conversions. */
const MAX_PARTNERSHIPS = 100;

async function readFilter(db: Db, query: Query): Promise<Result<ConversionFilter>> {
	const programme = query.programId === undefined ? null : await findNamed(db, query.programId);
	if (programme?.ok === false) return programme;
	const partner = query.partnerId === undefined ? null : await findNamedPartner(db, query.partnerId);
	if (partner?.ok === false) return partner;
	const times = parseMoments(MOMENTS, query);
	if (!times.ok) return times;
	const unindexed = findUnindexed(query, times.value);
	if (unindexed !== undefined) return refuseUnindexed(unindexed);
	const programmeId = programme?.value.id;
	const partnershipIds =
		partner === null ? succeed(undefined) : await findPartnershipIds(db, programmeId, partner.value.id);
	if (!partnershipIds.ok) return partnershipIds;
	return succeed({
		programmeId,
		partnershipIds: partnershipIds.value,
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "true",
		search: query.orderId === undefined ? undefined : readOrderSearch(query.orderId),
		fromMs: times.value.recordedFrom,
		beforeMs: times.value.recordedBefore,
		soldFromMs: times.value.occurredFrom,
		soldBeforeMs: times.value.occurredBefore,
		decidedFromMs: times.value.decidedFrom,
		decidedBeforeMs: times.value.decidedBefore,
	});
}

/** Returns the partnerships of a partner, in all programmes or in one. */
async function findPartnershipIds(
	db: Db,
	programmeId: number | undefined,
	partnerId: number,
): Promise<Result<number[]>> {
	const { rows, next } = await pagePartnerships(db, { programmeId, partnerId }, { limit: MAX_PARTNERSHIPS });
	if (next === null) return succeed(rows.map(({ id }) => id));
	const text = `The partner is in more than ${MAX_PARTNERSHIPS} programmes. Send programId as well.`;
	return refuse("invalid_field", text, "partnerId");
}

/**
 * Returns the name of a time filter that needs a programme because no index serves it otherwise, or undefined
 * if there is none.
 */
function findUnindexed(
	{ programId, partnerId }: Query,
	times: Readonly<Partial<Record<Moment, number>>>,
): Moment | undefined {
	if (programId !== undefined) return undefined;
	// An index serves the times of a partner's sales. Times of decisions are indexed by programme only.
	const unindexed = partnerId === undefined ? [...SALE_MOMENTS, ...DECISION_MOMENTS] : DECISION_MOMENTS;
	return unindexed.find((name) => times[name] !== undefined);
}

function refuseUnindexed(name: Moment): ReturnType<typeof refuse> {
	const isSaleTime = SALE_MOMENTS.some((each) => each === name);
	const needed = isSaleTime ? "programId or partnerId" : "programId";
	const text = `${name} needs ${needed}, because without it conversions are listed by when they were recorded.`;
	return refuse("invalid_field", text, name);
}

/** Returns the order in which a list with these filters is sorted, as on the page of conversions. */
function sortOf(query: Query): ConversionSort {
	if (query.decidedFrom !== undefined || query.decidedBefore !== undefined) {
		return { by: "decision", direction: "desc" };
	}
	const bySale = query.occurredFrom ?? query.occurredBefore ?? query.partnerId;
	return { by: bySale === undefined ? "recorded" : "sale", direction: "desc" };
}

/** All moves of a conversion. The compiler reports a move that is missing here, because `showChanges` could not show it. */
const CHANGE_WORDS = [
	...(["record", "park", "confirm", "credit", "refund", "expire"] as const),
	...(["approve", "reject", "reverse", "import"] as const),
] as const satisfies readonly Move[];

const CHANGE = z
	.strictObject({
		move: z
			.enum(CHANGE_WORDS)
			.describe(
				"What happened: `record`, `park` and `confirm` are reports of a sale, `credit` is a new credit, `refund` a partial refund, and `import` a conversion from other software. The others are decisions.",
			),
		status: z.enum(STATUSES).meta({ description: "The status after the change.", examples: ["RECORDED"] }),
		reason: z.string().nullable(),
		decidedBy: z.string().nullable(),
		at: UTC_TIME.meta({
			description:
				"The time of the change. The order of the list is the order of the commits, not this time.",
			examples: [EXAMPLE.time],
		}),
		conversion: NETWORK_CONVERSION.describe("The conversion as it is now, not as it was after this change."),
	})
	.meta({ id: "Change", description: "A change of a conversion's status, amounts or credit." });

const CHANGES = z
	.strictObject({
		items: z.array(CHANGE),
		next: z.string().meta({
			description:
				"Send it as `after` to get what came after this page. It is never null, because more changes come.",
			examples: [EXAMPLE_CURSOR],
		}),
		hasMore: z.boolean().meta({ description: "True if more changes are there already.", examples: [false] }),
	})
	.meta({ description: "Changes in the order of their commits." });

const CHANGES_LIST = "network changes";

async function showChanges(db: Db, moves: readonly NetworkMove[]): Promise<z.output<typeof CHANGE>[]> {
	const ids = [...new Set(moves.map(({ conversion_id }) => conversion_id))];
	const conversions = await findConversionsById(db, ids);
	const shown = await showConversions(db, [...conversions.values()]);
	return moves.flatMap((move) => {
		const conversion = shown.get(move.conversion_id);
		// Retention may have removed an expired conversion after its moves were read.
		if (conversion === undefined) return [];
		return {
			move: move.move,
			status: move.to_status,
			reason: move.reason,
			decidedBy: move.decided_by,
			at: isoTime(move.at_ms),
			conversion,
		};
	});
}

export const CONVERSION_ROUTES: readonly TokenRoute[] = [
	list({
		path: PATH,
		right: "read",
		operationId: "listNetworkConversions",
		summary: "List conversions of all programmes, the newest first",
		description:
			"Has every filter of the page. A page may have fewer items than `limit` before the last one, because some filters are checked row by row.",
		filters: FILTERS,
		item: NETWORK_CONVERSION,
		noun: "conversions",
		faults: ["resource"],
		async open({ query }, { store: { db, reader } }) {
			const filter = await readFilter(db, query);
			if (!filter.ok) return filter;
			const sort = sortOf(query);
			const { programId = "all", partnerId = "all" } = query;
			return succeed({
				name: `network conversions by ${sort.by} of ${programId} ${partnerId}`,
				async read(page) {
					const { rows, next } = await listConversions(reader, { ...filter.value, ...page, sort });
					const shown = await showConversions(db, rows);
					return { items: rows.flatMap(({ id }) => shown.get(id) ?? []), next };
				},
			});
		},
	}),
	route({
		method: "GET",
		path: `${PATH}/{conversionId}`,
		right: "read",
		operationId: "showNetworkConversion",
		summary: "Show a conversion of any programme",
		description: "Shows the conversion with its credit and its refunds.",
		isResource: true,
		answer: {
			description: "The conversion.",
			schema: z.strictObject({ conversion: NETWORK_CONVERSION, refunds: z.array(REFUND) }),
			example: { conversion: EXAMPLE_CONVERSION, refunds: [] },
		},
		faults: ["one conversion"],
		async handle({ path }, { store: { db } }) {
			const [conversion] = await findManyByPublicId(db, [path["conversionId"] ?? ""]);
			const shown = conversion && (await showConversions(db, [conversion])).get(conversion.id);
			if (conversion === undefined || shown === undefined) {
				const text =
					"There is no conversion with that ID. IDs start with cnv_; to look by order, use GET /v1/network/conversions?orderId=…";
				return refuse("unknown_conversion", text);
			}
			const refunds = (await listRefunds(db, conversion.id)).map(refundBody);
			return succeed({ body: { conversion: shown, refunds } });
		},
	}),
	route({
		method: "GET",
		path: "/v1/network/changes",
		right: "read",
		operationId: "listChanges",
		summary: "Follow all changes of conversions",
		description:
			"Lists every change of a status, an amount or a credit in all programmes, in the order of the commits, so that nothing is missed. Without `after` it begins with the first change on record. Store `next`, and ask again with it after a while.",
		query: z.strictObject({
			after: z
				.string()
				.meta({ description: "The unchanged `next` of an earlier page.", examples: [EXAMPLE_CURSOR] })
				.optional(),
			limit: LIMIT,
		}),
		answer: {
			description: "The changes.",
			schema: CHANGES,
		},
		faults: ["cursor"],
		async handle({ query }, deps) {
			const { after } = query;
			const request = readPage(deps, CHANGES_LIST, { limit: query.limit });
			if (!request.ok) return request;
			const start = after === undefined ? BEFORE_ALL : readCursor(deps, CHANGES_LIST, after);
			// After a restore of an older state, a cursor may be ahead of the database.
			if (start === undefined || (after !== undefined && !(await hasReached(deps.store, start)))) {
				return foreignCursor("after");
			}
			const { limit } = request.value;
			const moves = await listNetworkMoves(deps.store, start, limit + 1);
			const listed = moves.slice(0, limit);
			const { at, id } = listed.at(-1) ?? start;
			const items = await showChanges(deps.store.db, listed);
			const next = writeCursor(deps, CHANGES_LIST, { at, id });
			return succeed({ body: { items, next, hasMore: moves.length > limit } });
		},
	}),
];
