// Calls of the network's API about partnerships, their commissions and their coupon codes.

import * as z from "zod";
import { UTC_TIME } from "#core/api/answer-fields.ts";
import { EVENT_TYPES } from "#core/domain/conversion.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { isoTime } from "#core/domain/time.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import type { Db } from "#core/store/store.ts";
import { PARTNER_ID } from "#modules/partners/api/partner-id.ts";
import { MAX_COUPON_CODE_CHARACTERS } from "#modules/partners/domain/credit.ts";
import { listCodes } from "#modules/partners/store/coupon-codes.ts";
import { commissionsOf } from "#modules/partners/store/credits.ts";
import {
	findPartnership,
	type NamedPartnership,
	pagePartnerships,
} from "#modules/partners/store/partnerships.ts";
import {
	addPartnership,
	CODE_SEPARATORS,
	changeState,
	type PartnershipFields,
	readCodes,
	savePartnership,
} from "#modules/partners/use-cases/partnerships.ts";
import { create, creation } from "./create-route.ts";
import {
	ENDS_CLICKS,
	EXAMPLE,
	nameWireField,
	PARTNERSHIP_ID,
	PROGRAMME_ID,
	RATE,
	RATE_INPUT,
	rateText,
	showRate,
	timeOrNull,
} from "./fields.ts";
import { list } from "./list-route.ts";
import { findNamedPartner } from "./partner-calls.ts";
import { findNamed } from "./programme-calls.ts";
import { resource } from "./resource.ts";
import type { TokenApiDeps, TokenRoute } from "./route.ts";

const PATH = "/v1/network/partnerships";
export const PARTNERSHIP_PATH = `${PATH}/{partnershipId}`;

const EVENT_COMMISSIONS = z.array(z.strictObject({ eventType: z.enum(EVENT_TYPES), commission: RATE }));
const EVENT_COMMISSIONS_INPUT = z.array(
	z.strictObject({ eventType: z.enum(EVENT_TYPES), commission: RATE_INPUT }),
);

const PARTNERSHIP = z
	.strictObject({
		id: PARTNERSHIP_ID,
		programId: PROGRAMME_ID,
		partnerId: PARTNER_ID,
		commission: RATE.nullable().describe(
			"The partner's own general commission, or null if the programme's general one applies.",
		),
		eventRates: EVENT_COMMISSIONS.describe(
			"The partner's own commissions for single event types. For any other event type the programme's `eventRates` apply, and then the general commission.",
		),
		codes: z
			.array(z.string())
			.meta({ description: "The coupon codes of the partner.", examples: [["SUMMER10"]] }),
		createdAt: UTC_TIME,
		endedAt: UTC_TIME.nullable(),
	})
	.meta({
		id: "Partnership",
		description: "A partner in a programme.",
		examples: [
			{
				id: EXAMPLE.partnershipId,
				programId: EXAMPLE.programmeId,
				partnerId: EXAMPLE.partnerId,
				commission: null,
				eventRates: [],
				codes: ["SUMMER10"],
				createdAt: EXAMPLE.time,
				endedAt: null,
			},
		],
	});

async function showPartnerships(
	db: Db,
	partnerships: readonly NamedPartnership[],
): Promise<z.output<typeof PARTNERSHIP>[]> {
	const ids = partnerships.map(({ id }) => id);
	const codes = Map.groupBy(await listCodes(db, ids), ({ partnership_id }) => partnership_id);
	return partnerships.map((partnership) => {
		const { commission, byType } = commissionsOf(partnership, partnership.programme_currency);
		return {
			id: partnership.public_id,
			programId: partnership.programme_public_id,
			partnerId: partnership.partner_public_id,
			commission: commission === null ? null : showRate(commission),
			eventRates: EVENT_TYPES.flatMap((eventType) => {
				const rate = byType[eventType];
				return rate === undefined ? [] : [{ eventType, commission: showRate(rate) }];
			}),
			codes: (codes.get(partnership.id) ?? []).map(({ code }) => code),
			createdAt: isoTime(partnership.created_at_ms),
			endedAt: timeOrNull(partnership.ended_at_ms),
		};
	});
}

export async function findNamedPartnership(db: Db, publicId: string): Promise<Result<NamedPartnership>> {
	const partnership = await findPartnership(db, publicId);
	if (partnership !== undefined) return succeed(partnership);
	const text = `There is no partnership ${publicId}. Check the ID: it starts with pts_.`;
	return refuse("unknown_partner", text);
}

const partnership = resource({
	path: PARTNERSHIP_PATH,
	id: "partnershipId",
	noun: "partnership",
	schema: PARTNERSHIP,
	find: findNamedPartnership,
	async show(db, found) {
		const [shown] = await showPartnerships(db, [found]);
		if (shown === undefined) throw new Error("one partnership was given, and none was returned");
		return shown;
	},
});

/**
 * Saves fields in the form in which the page of the partnership sends them. `shown` has the values from
 * before the change.
 */
async function save(
	{ programme_id: programmeId, public_id: publicId }: NamedPartnership,
	deps: TokenApiDeps,
	holder: TokenHolder,
	typed: Partial<PartnershipFields>,
	shown?: Partial<PartnershipFields>,
): Promise<Result<unknown>> {
	const saved = await savePartnership(deps, holder, { programmeId, publicId }, typed, shown);
	return saved.ok ? saved : nameWireField(saved, WIRE_FIELDS);
}

/** Names of fields in a call, by the names that the use case gives them in faults. */
const WIRE_FIELDS: Readonly<Record<string, string>> = {
	rate: "commission.percent",
	fixed: "commission.fixed",
	codes: "code",
};

const COMMISSION_CHANGE = z
	.strictObject({
		commission: RATE_INPUT.nullable().describe(
			"The partner's own general commission, or null for the programme's. It does not replace the programme's `eventRates`.",
		),
		eventRates: EVENT_COMMISSIONS_INPUT,
	})
	.partial();

/** Converts the given commissions to the texts of the page's form. */
function typedCommission(
	{ commission, eventRates }: z.output<typeof COMMISSION_CHANGE>,
	currency: string,
): Partial<PartnershipFields> {
	const lines = eventRates?.map((each) => `${each.eventType}: ${rateText(each.commission, currency)}`);
	return {
		...(commission === undefined ? {} : { rate: commission?.percent ?? "", fixed: commission?.fixed ?? "" }),
		...(lines === undefined ? {} : { eventRates: lines.join("\n") }),
	};
}

/**
 * Returns the code if it is a single one. A form may have several codes, separated by commas, but a call is about one.
 */
function readOneCode(code: string): Result<string> {
	const read = readCodes(code);
	if (read.ok && read.value.size === 1 && !CODE_SEPARATORS.test(code)) return succeed(code);
	const text = `code must be one coupon code of at most ${MAX_COUPON_CODE_CHARACTERS} characters, without commas, semicolons and line breaks.`;
	return refuse("invalid_field", text, "code");
}

const CODE = z.string().meta({ examples: ["SUMMER10"] });

export const PARTNERSHIP_ROUTES: readonly TokenRoute[] = [
	list({
		path: PATH,
		right: "read",
		operationId: "listPartnerships",
		summary: "List partnerships, the newest first",
		description: "Lists all partnerships, also ended ones, or those of one programme or partner.",
		filters: {
			programId: z
				.string()
				.meta({ examples: [EXAMPLE.programmeId] })
				.optional(),
			partnerId: z
				.string()
				.meta({ examples: [EXAMPLE.partnerId] })
				.optional(),
		},
		item: PARTNERSHIP,
		noun: "partnerships",
		faults: ["resource"],
		async open({ query }, { store: { db } }) {
			const programme = query.programId === undefined ? null : await findNamed(db, query.programId);
			if (programme?.ok === false) return programme;
			const partner = query.partnerId === undefined ? null : await findNamedPartner(db, query.partnerId);
			if (partner?.ok === false) return partner;
			const filter = { programmeId: programme?.value.id, partnerId: partner?.value.id };
			return succeed({
				name: `network partnerships ${filter.programmeId ?? "all"} ${filter.partnerId ?? "all"}`,
				async read(page) {
					const { rows, next } = await pagePartnerships(db, filter, page);
					return { items: await showPartnerships(db, rows), next };
				},
			});
		},
	}),
	create({
		path: PATH,
		right: "manage",
		operationId: "createPartnership",
		summary: "Add a partner to a programme",
		description:
			"The partnership has the programme's commission and terms. Change its commission afterwards if another was agreed.",
		fields: {
			programId: z.string().meta({ examples: [EXAMPLE.programmeId] }),
			partnerId: z.string().meta({ examples: [EXAMPLE.partnerId] }),
		},
		faults: ["resource"],
		answer: { description: "The partnership.", schema: PARTNERSHIP },
		async open({ body }, deps) {
			const { db } = deps.store;
			const programme = await findNamed(db, body.programId);
			if (!programme.ok) return programme;
			const partner = await findNamedPartner(db, body.partnerId);
			if (!partner.ok) return partner;
			return creation({
				create: (holder) => addPartnership(deps, holder, programme.value.id, partner.value),
				idOf: ({ public_id }) => public_id,
				show: (id) => partnership.read(db, id),
			});
		},
	}),
	partnership.show({
		operationId: "showPartnership",
		summary: "Show a partnership",
		description: "Shows a partnership with its own commission and its coupon codes.",
	}),
	partnership.change({
		operationId: "changePartnership",
		summary: "Change the commission of a partnership",
		description: "Changes the given fields. They apply to sales that are recorded from now on.",
		body: COMMISSION_CHANGE,
		sample: { commission: { percent: "10" } },
		faults: ["sale", "event type"],
		change: (found, { body }, deps, holder) =>
			save(found, deps, holder, typedCommission(body, found.programme_currency)),
	}),
	partnership.change({
		at: "POST /end",
		operationId: "endPartnership",
		summary: "End a partnership",
		description:
			"Links lead to the shop without a click ID, and codes credit nobody. What was earned stays. If it is repeated, nothing changes.",
		body: z.strictObject({ endsClicks: ENDS_CLICKS }),
		change: ({ programme_id: programmeId, public_id: publicId }, { body }, deps, holder) =>
			changeState(deps, holder, { programmeId, publicId }, "ended", body.endsClicks),
	}),
	partnership.change({
		at: "POST /resume",
		operationId: "resumePartnership",
		summary: "Resume a partnership",
		description: "Links and codes count again. If it is repeated, nothing changes.",
		body: z.strictObject({}),
		change: ({ programme_id: programmeId, public_id: publicId }, _call, deps, holder) =>
			changeState(deps, holder, { programmeId, publicId }, "active", false),
	}),
	partnership.change({
		at: "POST /codes",
		operationId: "addCode",
		summary: "Add a coupon code",
		description:
			"A code belongs to one partner of a programme. If the partner has it already, nothing changes. If another partner has it, the call is refused.",
		body: z.strictObject({ code: CODE }),
		async change(found, { body }, deps, holder) {
			const code = readOneCode(body.code);
			return code.ok ? save(found, deps, holder, { codes: code.value }, { codes: "" }) : code;
		},
	}),
	partnership.change({
		at: "DELETE /codes/{code}",
		operationId: "removeCode",
		summary: "Remove a coupon code",
		description:
			"Sales with the code credit nobody from now on. If the partner does not have it, nothing changes.",
		async change(found, { path }, deps, holder) {
			const code = readOneCode(path["code"] ?? "");
			return code.ok ? save(found, deps, holder, { codes: "" }, { codes: code.value }) : code;
		},
	}),
];
