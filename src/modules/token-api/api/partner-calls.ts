// Calls of the network's API about partners, partnerships, coupon codes and partner links.

import * as z from "zod";
import { UTC_TIME } from "#core/api/answer-fields.ts";
import { EVENT_TYPES } from "#core/domain/conversion.ts";
import { type Result, refusalOf, refuse, succeed } from "#core/domain/fault.ts";
import { isoTime } from "#core/domain/time.ts";
import { findPartner, listPartners } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { PARTNER_ID } from "#modules/partners/api/partner-id.ts";
import { MAX_COUPON_CODE_CHARACTERS } from "#modules/partners/domain/credit.ts";
import { listCodes } from "#modules/partners/store/coupon-codes.ts";
import { commissionsOf } from "#modules/partners/store/credits.ts";
import { findPartnerLink, pagePartnerLinks } from "#modules/partners/store/partner-links.ts";
import {
	findPartnership,
	type NamedPartnership,
	pagePartnerships,
} from "#modules/partners/store/partnerships.ts";
import type { PartnerLink } from "#modules/partners/store/tables.ts";
import { makePartnerLink, normalizeLink } from "#modules/partners/use-cases/partner-links.ts";
import {
	invitePartner,
	readPartner as parsePartner,
	renamePartner,
} from "#modules/partners/use-cases/partners.ts";
import {
	addPartnership,
	CODE_SEPARATORS,
	changeState,
	endPartner,
	type PartnershipFields,
	readCodes,
	savePartnership,
} from "#modules/partners/use-cases/partnerships.ts";
import {
	EXAMPLE,
	nameWireField,
	PAGE_QUERY,
	PARTNERSHIP_ID,
	PROGRAMME_ID,
	pageOf,
	RATE,
	RATE_INPUT,
	REFERENCE,
	rateText,
	readPage,
	showRate,
	timeOrNull,
	writeNext,
	writePage,
} from "./fields.ts";
import { findNamed, SENT_LINK, showLink } from "./programme-calls.ts";
import { route, type TokenAnswer, type TokenApiDeps, type TokenRoute } from "./route.ts";
import { createOnce, ifUnchanged } from "./transaction.ts";

const PARTNERS_PATH = "/v1/network/partners";
const PARTNERSHIPS_PATH = "/v1/network/partnerships";
const PARTNERSHIP_PATH = `${PARTNERSHIPS_PATH}/{partnershipId}`;

const PARTNER = z
	.strictObject({
		id: PARTNER_ID,
		name: z.string(),
		site: z.string().describe("The address of the partner's website, or empty."),
		createdAt: UTC_TIME,
		archivedAt: UTC_TIME.nullable().describe("The time at which staff archived the partner, or null."),
	})
	.meta({ id: "Partner", description: "A company or person that brings sales." });

const EXAMPLE_PARTNER: z.output<typeof PARTNER> = {
	...{ id: EXAMPLE.partnerId, name: "Blog", site: "https://blog.example/" },
	...{ createdAt: EXAMPLE.time, archivedAt: null },
};

function showPartner(partner: Partner): z.output<typeof PARTNER> {
	const { public_id: id, name, site, created_at_ms: createdAtMs, archived_at_ms: archivedAtMs } = partner;
	return { id, name, site, createdAt: isoTime(createdAtMs), archivedAt: timeOrNull(archivedAtMs) };
}

/** Finds the partner with this public id. */
export async function findNamedPartner(db: Db, publicId: string): Promise<Result<Partner>> {
	const partner = await findPartner(db, publicId);
	return partner === undefined ? refusalOf("unknown_partner", { id: publicId }) : succeed(partner);
}

async function answerPartner(
	db: Db,
	publicId: string,
): Promise<Result<TokenAnswer<z.output<typeof PARTNER>>>> {
	const partner = await findNamedPartner(db, publicId);
	return partner.ok ? succeed({ body: showPartner(partner.value) }) : partner;
}

/** Reads a partner as it is answered, for a comparison with If-Match. */
async function readPartner(db: Db, publicId: string): Promise<unknown> {
	const partner = await answerPartner(db, publicId);
	return partner.ok ? partner.value.body : null;
}

const ENDS_CLICKS = z
	.boolean()
	.default(false)
	.describe("True to credit no more sales from clicks that were made before. It is for fraud.");

const partnerRoutes: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: PARTNERS_PATH,
		right: "read",
		operationId: "listPartners",
		summary: "List partners, the newest first",
		description: "Lists all partners that are not archived, or those that are.",
		query: z.strictObject({
			search: z.string().meta({ description: "A part of the name, or an ID." }).optional(),
			archived: z
				.enum(["true", "false"])
				.meta({ description: "`true` for archived partners only." })
				.optional(),
			...PAGE_QUERY,
		}),
		answer: {
			description: "The page.",
			schema: pageOf(PARTNER, "A page of partners."),
			example: { items: [EXAMPLE_PARTNER], next: null },
		},
		faults: ["cursor"],
		async handle({ query }, deps) {
			const archived = query.archived === "true" ? "only" : "no";
			const list = `network partners, archived: ${archived}`;
			const request = readPage(deps, list, query);
			if (!request.ok) return request;
			const page = await listPartners(deps.store.db, {
				...request.value,
				archived,
				search: query.search ?? "",
			});
			return succeed({ body: writePage(deps, list, page, showPartner) });
		},
	}),
	route({
		method: "POST",
		path: PARTNERS_PATH,
		right: "manage",
		operationId: "createPartner",
		summary: "Create a partner, and invite a person to sign in for it",
		description: "Creates a partner in no programme. Add it to programmes with a partnership for each.",
		body: z.strictObject({
			reference: REFERENCE,
			name: z.string().meta({ examples: ["Blog"] }),
			site: z
				.string()
				.meta({ examples: ["https://blog.example/"] })
				.default(""),
			email: z.string().meta({ examples: ["partner@blog.example"] }),
		}),
		sample: { reference: "partner-4", name: "Blog", email: "partner@blog.example" },
		creates: true,
		answer: {
			description: "The partner.",
			schema: z.strictObject({
				partner: PARTNER,
				invitation: SENT_LINK.nullable().describe(
					"Null if an earlier call with the same reference created the partner.",
				),
			}),
			example: { partner: EXAMPLE_PARTNER, invitation: null },
		},
		faults: ["reference", "value"],
		async handle(call, deps) {
			const { name, site, email } = call.body;
			const read = parsePartner({ name, site, email });
			const created = await createOnce(deps, call, "createPartner", {
				...(read.ok ? { values: read.value } : {}),
				create: (holder) => invitePartner(deps, holder, { name, site, email }),
				idOf: ({ partner }) => partner.public_id,
			});
			if (!created.ok) return created;
			const { id, result } = created.value;
			const partner = await findNamedPartner(deps.store.db, id);
			if (!partner.ok) return partner;
			const invitation = result === null ? null : showLink(result);
			return succeed({ body: { partner: showPartner(partner.value), invitation }, isNew: result !== null });
		},
	}),
	route({
		method: "GET",
		path: `${PARTNERS_PATH}/{partnerId}`,
		right: "read",
		operationId: "showPartner",
		summary: "Show a partner",
		description: "Shows one partner. Its partnerships are a list of their own.",
		isResource: true,
		answer: { description: "The partner.", schema: PARTNER, example: EXAMPLE_PARTNER },
		faults: ["resource"],
		handle: ({ path }, { store }) => answerPartner(store.db, path["partnerId"] ?? ""),
	}),
	route({
		method: "PATCH",
		path: `${PARTNERS_PATH}/{partnerId}`,
		right: "manage",
		operationId: "changePartner",
		summary: "Change a partner's name or site",
		description: "Changes the given fields and leaves the others as they are.",
		body: z.strictObject({ name: z.string(), site: z.string() }).partial(),
		sample: { name: "Blog" },
		isResource: true,
		answer: { description: "The partner as it is now.", schema: PARTNER, example: EXAMPLE_PARTNER },
		faults: ["resource", "precondition", "value"],
		async handle(call, deps) {
			const publicId = call.path["partnerId"] ?? "";
			const found = await findNamedPartner(deps.store.db, publicId);
			if (!found.ok) return found;
			const holder = ifUnchanged(call, (trx) => readPartner(trx, publicId));
			const changed = await renamePartner(deps, holder, found.value.id, call.body);
			return changed.ok ? answerPartner(deps.store.db, publicId) : changed;
		},
	}),
	route({
		method: "POST",
		path: `${PARTNERS_PATH}/{partnerId}/end`,
		right: "manage",
		operationId: "endPartner",
		summary: "End all partnerships of a partner",
		description:
			"The partner keeps what was earned. Its links lead to the shops without a click ID, and its codes credit nobody. If it is repeated, nothing changes.",
		body: z.strictObject({ endsClicks: ENDS_CLICKS }),
		sample: { endsClicks: false },
		isResource: true,
		answer: { description: "The partner.", schema: PARTNER, example: EXAMPLE_PARTNER },
		faults: ["resource", "precondition", "value"],
		async handle(call, deps) {
			const publicId = call.path["partnerId"] ?? "";
			const partner = await findNamedPartner(deps.store.db, publicId);
			if (!partner.ok) return partner;
			const holder = ifUnchanged(call, (trx) => readPartner(trx, publicId));
			const ended = await endPartner(deps, holder, partner.value.id, call.body.endsClicks);
			return ended.ok ? answerPartner(deps.store.db, publicId) : ended;
		},
	}),
];

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
	.meta({ id: "Partnership", description: "A partner in a programme." });

const EXAMPLE_PARTNERSHIP: z.output<typeof PARTNERSHIP> = {
	...{ id: EXAMPLE.partnershipId, programId: EXAMPLE.programmeId, partnerId: EXAMPLE.partnerId },
	...{ commission: null, eventRates: [], codes: ["SUMMER10"], createdAt: EXAMPLE.time, endedAt: null },
};

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

async function findNamedPartnership(db: Db, publicId: string): Promise<Result<NamedPartnership>> {
	const partnership = await findPartnership(db, publicId);
	if (partnership !== undefined) return succeed(partnership);
	const text = `There is no partnership ${publicId}. Check the ID: it starts with pts_.`;
	return refuse("unknown_partner", text);
}

async function answerPartnership(
	db: Db,
	publicId: string,
): Promise<Result<TokenAnswer<z.output<typeof PARTNERSHIP>>>> {
	const found = await findNamedPartnership(db, publicId);
	if (!found.ok) return found;
	const [shown] = await showPartnerships(db, [found.value]);
	if (shown === undefined) throw new Error("one partnership was given, and none was returned");
	return succeed({ body: shown });
}

/** Reads a partnership as it is answered, for a comparison with If-Match. */
async function readPartnership(db: Db, publicId: string): Promise<unknown> {
	const partnership = await answerPartnership(db, publicId);
	return partnership.ok ? partnership.value.body : null;
}

/** Saves the fields of a partnership that `change` returns, as `savePartnership` takes them. */
async function save(
	deps: TokenApiDeps,
	call: Parameters<TokenRoute["handle"]>[0],
	change: (partnership: NamedPartnership) => Result<{
		typed: Partial<PartnershipFields>;
		shown?: Partial<PartnershipFields>;
	}>,
): Promise<Result<TokenAnswer<z.output<typeof PARTNERSHIP>>>> {
	const publicId = call.path["partnershipId"] ?? "";
	const { db } = deps.store;
	const found = await findNamedPartnership(db, publicId);
	if (!found.ok) return found;
	const holder = ifUnchanged(call, (trx) => readPartnership(trx, publicId));
	const address = { programmeId: found.value.programme_id, publicId };
	const fields = change(found.value);
	if (!fields.ok) return fields;
	const { typed, shown } = fields.value;
	const saved = await savePartnership(deps, holder, address, typed, shown);
	return saved.ok ? answerPartnership(db, publicId) : nameWireField(saved, WIRE_FIELDS);
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

/** Writes the given commissions as the form has them. */
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

const partnershipRoutes: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: PARTNERSHIPS_PATH,
		right: "read",
		operationId: "listPartnerships",
		summary: "List partnerships, the newest first",
		description: "Lists all partnerships, also ended ones, or those of one programme or partner.",
		query: z.strictObject({
			programId: z
				.string()
				.meta({ examples: [EXAMPLE.programmeId] })
				.optional(),
			partnerId: z
				.string()
				.meta({ examples: [EXAMPLE.partnerId] })
				.optional(),
			...PAGE_QUERY,
		}),
		answer: {
			description: "The page.",
			schema: pageOf(PARTNERSHIP, "A page of partnerships."),
			example: { items: [EXAMPLE_PARTNERSHIP], next: null },
		},
		faults: ["cursor", "resource"],
		async handle({ query }, deps) {
			const { db } = deps.store;
			const programme = query.programId === undefined ? null : await findNamed(db, query.programId);
			if (programme?.ok === false) return programme;
			const partner = query.partnerId === undefined ? null : await findNamedPartner(db, query.partnerId);
			if (partner?.ok === false) return partner;
			const filter = { programmeId: programme?.value.id, partnerId: partner?.value.id };
			const list = `network partnerships ${filter.programmeId ?? "all"} ${filter.partnerId ?? "all"}`;
			const request = readPage(deps, list, query);
			if (!request.ok) return request;
			const page = await pagePartnerships(db, filter, request.value);
			const items = await showPartnerships(db, page.rows);
			return succeed({ body: { items, next: writeNext(deps, list, page.next) } });
		},
	}),
	route({
		method: "POST",
		path: PARTNERSHIPS_PATH,
		right: "manage",
		operationId: "createPartnership",
		summary: "Add a partner to a programme",
		description:
			"The partnership has the programme's commission and terms. Change its commission afterwards if another was agreed.",
		body: z.strictObject({
			reference: REFERENCE,
			programId: z.string().meta({ examples: [EXAMPLE.programmeId] }),
			partnerId: z.string().meta({ examples: [EXAMPLE.partnerId] }),
		}),
		sample: { programId: EXAMPLE.programmeId, partnerId: EXAMPLE.partnerId },
		creates: true,
		answer: { description: "The partnership.", schema: PARTNERSHIP, example: EXAMPLE_PARTNERSHIP },
		faults: ["resource", "reference", "value"],
		async handle(call, deps) {
			const { db } = deps.store;
			const programme = await findNamed(db, call.body.programId);
			if (!programme.ok) return programme;
			const partner = await findNamedPartner(db, call.body.partnerId);
			if (!partner.ok) return partner;
			const created = await createOnce(deps, call, "createPartnership", {
				create: (holder) => addPartnership(deps, holder, programme.value.id, partner.value),
				idOf: ({ public_id }) => public_id,
			});
			if (!created.ok) return created;
			const partnership = await answerPartnership(db, created.value.id);
			if (!partnership.ok) return partnership;
			return succeed({ ...partnership.value, isNew: created.value.result !== null });
		},
	}),
	route({
		method: "GET",
		path: PARTNERSHIP_PATH,
		right: "read",
		operationId: "showPartnership",
		summary: "Show a partnership",
		description: "Shows a partnership with its own commission and its coupon codes.",
		isResource: true,
		answer: { description: "The partnership.", schema: PARTNERSHIP, example: EXAMPLE_PARTNERSHIP },
		faults: ["resource"],
		handle: ({ path }, { store }) => answerPartnership(store.db, path["partnershipId"] ?? ""),
	}),
	route({
		method: "PATCH",
		path: PARTNERSHIP_PATH,
		right: "manage",
		operationId: "changePartnership",
		summary: "Change the commission of a partnership",
		description: "Changes the given fields. They apply to sales that are recorded from now on.",
		body: COMMISSION_CHANGE,
		sample: { commission: { percent: "10" } },
		isResource: true,
		answer: {
			description: "The partnership as it is now.",
			schema: PARTNERSHIP,
			example: EXAMPLE_PARTNERSHIP,
		},
		faults: ["sale", "event type", "resource", "precondition", "value"],
		handle: (call, deps) =>
			save(deps, call, ({ programme_currency: currency }) =>
				succeed({ typed: typedCommission(call.body, currency) }),
			),
	}),
	stateRoute("endPartnership", "end", "End a partnership"),
	stateRoute("resumePartnership", "resume", "Resume a partnership"),
	route({
		method: "POST",
		path: `${PARTNERSHIP_PATH}/codes`,
		right: "manage",
		operationId: "addCode",
		summary: "Add a coupon code",
		description:
			"A code belongs to one partner of a programme. If the partner has it already, nothing changes. If another partner has it, the call is refused.",
		body: z.strictObject({ code: z.string().meta({ examples: ["SUMMER10"] }) }),
		sample: { code: "SUMMER10" },
		isResource: true,
		answer: {
			description: "The partnership as it is now.",
			schema: PARTNERSHIP,
			example: EXAMPLE_PARTNERSHIP,
		},
		faults: ["resource", "precondition", "value"],
		handle: (call, deps) =>
			save(deps, call, () => {
				const code = readOneCode(call.body.code);
				return code.ok ? succeed({ typed: { codes: code.value }, shown: { codes: "" } }) : code;
			}),
	}),
	route({
		method: "DELETE",
		path: `${PARTNERSHIP_PATH}/codes/{code}`,
		right: "manage",
		operationId: "removeCode",
		summary: "Remove a coupon code",
		description:
			"Sales with the code credit nobody from now on. If the partner does not have it, nothing changes.",
		isResource: true,
		answer: {
			description: "The partnership as it is now.",
			schema: PARTNERSHIP,
			example: EXAMPLE_PARTNERSHIP,
		},
		faults: ["resource", "precondition", "value"],
		handle: (call, deps) =>
			save(deps, call, () => {
				const code = readOneCode(call.path["code"] ?? "");
				return code.ok ? succeed({ typed: { codes: "" }, shown: { codes: code.value } }) : code;
			}),
	}),
];

function stateRoute(operationId: string, verb: "end" | "resume", summary: string): TokenRoute {
	const rule =
		verb === "end"
			? "Links lead to the shop without a click ID, and codes credit nobody. What was earned stays."
			: "Links and codes count again.";
	return route({
		method: "POST",
		path: `${PARTNERSHIP_PATH}/${verb}`,
		right: "manage",
		operationId,
		summary,
		description: `${rule} If it is repeated, nothing changes.`,
		body: verb === "end" ? z.strictObject({ endsClicks: ENDS_CLICKS }) : z.strictObject({}),
		sample: {},
		isResource: true,
		answer: {
			description: "The partnership as it is now.",
			schema: PARTNERSHIP,
			example: EXAMPLE_PARTNERSHIP,
		},
		faults: ["resource", "precondition", "value"],
		async handle(call, deps) {
			const publicId = call.path["partnershipId"] ?? "";
			const found = await findNamedPartnership(deps.store.db, publicId);
			if (!found.ok) return found;
			const address = { programmeId: found.value.programme_id, publicId };
			const endsClicks = call.body["endsClicks"] === true;
			const state = verb === "end" ? "ended" : "active";
			const holder = ifUnchanged(call, (trx) => readPartnership(trx, publicId));
			const changed = await changeState(deps, holder, address, state, endsClicks);
			return changed.ok ? answerPartnership(deps.store.db, publicId) : changed;
		},
	});
}

export const LINK = z
	.strictObject({
		code: z.string().meta({ examples: ["summer"] }),
		url: z
			.string()
			.meta({ description: "The address to publish.", examples: ["https://network.example/c/summer"] }),
		name: z.string(),
		target: z.string().meta({ examples: ["https://nordlicht.example/"] }),
		programId: PROGRAMME_ID,
		createdAt: UTC_TIME,
	})
	.meta({ id: "PartnerLink", description: "A partner's link to a page of the shop." });

export const EXAMPLE_LINK: z.output<typeof LINK> = {
	...{
		code: "summer",
		url: "https://network.example/c/summer",
		name: "Summer",
		target: "https://nordlicht.example/",
	},
	...{ programId: EXAMPLE.programmeId, createdAt: EXAMPLE.time },
};

export const LINK_INPUT = {
	reference: REFERENCE,
	target: z.string().meta({ description: "The page of the shop.", examples: ["https://nordlicht.example/"] }),
	name: z.string().default(""),
	code: z
		.string()
		.meta({ description: "A random one by default.", examples: ["summer"] })
		.default(""),
};

export function showPartnerLink(
	{ clickUrl }: Pick<TokenApiDeps, "clickUrl">,
	link: PartnerLink,
	programId: string,
): z.output<typeof LINK> {
	const { code, name, target, created_at_ms: createdAtMs } = link;
	return { code, url: `${clickUrl}/c/${code}`, name, target, programId, createdAt: isoTime(createdAtMs) };
}

/** Creates a link of a partnership, and shows it. */
export async function createLink(
	deps: TokenApiDeps,
	call: Parameters<TokenRoute["handle"]>[0] & {
		body: z.output<z.ZodObject<typeof LINK_INPUT>>;
	},
	partnership: NamedPartnership,
): Promise<Result<{ body: z.output<typeof LINK>; isNew: boolean }>> {
	const { name, target, code } = call.body;
	const owner = { partnerId: partnership.partner_id, partnershipId: partnership.public_id };
	const created = await createOnce(deps, call, "createLink", {
		values: normalizeLink({ name, target, code }),
		create: (holder) => makePartnerLink(deps, holder, owner, { name, target, code }),
		idOf: (link) => link.code,
	});
	if (!created.ok) return created;
	const link = await findPartnerLink(deps.store.db, "code", created.value.id);
	if (link === undefined) throw new Error("links are never deleted");
	const body = showPartnerLink(deps, link, partnership.programme_public_id);
	return succeed({ body, isNew: created.value.result !== null });
}

const linkRoutes: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: `${PARTNERSHIP_PATH}/links`,
		right: "read",
		operationId: "listPartnershipLinks",
		summary: "List the links of a partnership, the newest first",
		description: "Links are never removed. Those of an ended partnership lead to the shop and credit nobody.",
		query: z.strictObject(PAGE_QUERY),
		answer: {
			description: "The page.",
			schema: pageOf(LINK, "A page of links."),
			example: { items: [EXAMPLE_LINK], next: null },
		},
		faults: ["cursor", "resource"],
		async handle({ path, query }, deps) {
			const found = await findNamedPartnership(deps.store.db, path["partnershipId"] ?? "");
			if (!found.ok) return found;
			const { id, programme_public_id: programId } = found.value;
			const list = `links of partnership:${id}`;
			const request = readPage(deps, list, query);
			if (!request.ok) return request;
			const page = await pagePartnerLinks(deps.store.db, [id], request.value);
			return succeed({ body: writePage(deps, list, page, (link) => showPartnerLink(deps, link, programId)) });
		},
	}),
	route({
		method: "POST",
		path: `${PARTNERSHIP_PATH}/links`,
		right: "manage",
		operationId: "createPartnershipLink",
		summary: "Create a link for a partner",
		description: "The link leads to a page at one of the programme's confirmed hosts.",
		body: z.strictObject(LINK_INPUT),
		sample: { target: "https://nordlicht.example/", code: "summer" },
		creates: true,
		answer: { description: "The link.", schema: LINK, example: EXAMPLE_LINK },
		faults: ["resource", "reference", "value"],
		async handle(call, deps) {
			const found = await findNamedPartnership(deps.store.db, call.path["partnershipId"] ?? "");
			return found.ok ? createLink(deps, call, found.value) : found;
		},
	}),
];

export const PARTNER_ROUTES: readonly TokenRoute[] = [...partnerRoutes, ...partnershipRoutes, ...linkRoutes];
