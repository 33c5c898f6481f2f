// Calls of the network's API about programmes, their API keys and their people.

import * as z from "zod";
import { UTC_TIME } from "#core/api/answer-fields.ts";
import { BASKET_RULES } from "#core/domain/basket-rule.ts";
import { EVENT_TYPES } from "#core/domain/conversion.ts";
import { type Result, succeed } from "#core/domain/fault.ts";
import { PROGRAMME_ROLES } from "#core/domain/roles.ts";
import { isoTime } from "#core/domain/time.ts";
import { inviteToProgramme } from "#core/people/programme-people.ts";
import { archiveProgramme, resumeProgramme } from "#core/programmes/archive.ts";
import { issueKey, revokeKey } from "#core/programmes/keys.ts";
import { openProgramme } from "#core/programmes/open-programme.ts";
import { changeProgramme, type TermsInput } from "#core/programmes/programme-terms.ts";
import { unknownProgramme } from "#core/programmes/programmes.ts";
import { type ListedKey, listApiKeys } from "#core/store/queries/keys.ts";
import { listProgrammes } from "#core/store/queries/programme-list.ts";
import {
	findProgramme,
	findProgrammesById,
	type Programme,
	ratesOf,
} from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { sayHost } from "#modules/partners/domain/click.ts";
import { findListedHosts, type ListedHost, listLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import { type PartnerTermsInput, savePartnerTerms } from "#modules/partners/use-cases/terms.ts";
import { create, creation } from "./create-route.ts";
import {
	ARCHIVED,
	EXAMPLE,
	nameWireField,
	PROGRAMME_ID,
	RATE,
	RATE_INPUT,
	rateText,
	SEARCH,
	SENT_LINK,
	showLink,
	showRate,
	timeOrNull,
} from "./fields.ts";
import { list } from "./list-route.ts";
import { resource } from "./resource.ts";
import { route, type TokenRoute } from "./route.ts";

const PATH = "/v1/network/programmes";
/** Maximum number of revoked keys in the list, in addition to all usable ones. */
const MAX_REVOKED_LISTED = 50;

const DAYS = z
	.int()
	.min(0)
	.meta({ examples: [30] });

/**
 * A single host. Commas and white space are refused, because the form of the page separates several hosts
 * with them.
 */
const HOST = z.string().regex(/^[^\s,]+$/, "must be one host, without commas and spaces");

const PARTNER_SETTINGS = z
	.strictObject({
		creditsPartners: z
			.boolean()
			.describe("True if only sales that a partner brought have a commission and a fee."),
		clickDays: DAYS.describe("Number of days after a click in which a sale is credited to it."),
		clickParameter: z
			.string()
			.meta({ description: "Name of the query parameter with the click ID.", examples: ["rbclick"] }),
		showsBaskets: z.boolean().describe("True if partners see the basket values of their sales."),
		takesApplications: z.boolean().describe("True if strangers may apply as partners."),
		isListed: z.boolean().describe("True if partners find the programme in their list of programmes."),
		terms: z.string().describe("The terms for partners, as plain text."),
		hosts: z.array(HOST).meta({
			description: "Hosts to which partners' links may lead. `*.` before a host includes its subdomains.",
			examples: [["shop.example"]],
		}),
		waitingHosts: z.array(z.string()).meta({
			description:
				"Hosts that an owner entered and staff have not confirmed. No link leads there. They are confirmed or declined on the page *Partners*, and no call changes them.",
			examples: [["new.shop.example"]],
		}),
	})
	.meta({ id: "PartnerSettings", description: "A programme's settings for partners." });

const SETTINGS_CHANGE = PARTNER_SETTINGS.omit({ waitingHosts: true }).partial();

const EVENT_RATES = z.array(
	z.strictObject({ eventType: z.enum(EVENT_TYPES), commission: RATE, networkFee: RATE }),
);
const EVENT_RATES_INPUT = z.array(
	z.strictObject({ eventType: z.enum(EVENT_TYPES), commission: RATE_INPUT, networkFee: RATE_INPUT }),
);

const PROGRAMME = z
	.strictObject({
		id: PROGRAMME_ID,
		name: z.string(),
		currency: z.string().meta({ description: "ISO 4217 code. It never changes.", examples: ["EUR"] }),
		commission: RATE,
		networkFee: RATE,
		eventRates: EVENT_RATES.describe("Rates for single event types, which replace the general ones."),
		approvalDays: DAYS.describe("Number of days until a recorded conversion is approved by itself."),
		approvalDaysMin: DAYS.describe("Shortest approval window that owners may choose."),
		approvalDaysMax: DAYS.describe("Longest approval window that owners may choose."),
		parksPixels: z.boolean().describe("True if a pixel's report waits for the shop's server."),
		parkedDays: DAYS.describe("Number of days for which a parked conversion waits."),
		basketRule: z.enum(BASKET_RULES).describe("What the basket value of a sale report contains."),
		basketNote: z.string().describe("What the programme adds to the rule, or empty."),
		partners: PARTNER_SETTINGS,
		createdAt: UTC_TIME,
		archivedAt: UTC_TIME.nullable().describe("The time at which staff archived the programme, or null."),
	})
	.meta({
		id: "Programme",
		description: "A programme with its terms.",
		examples: [
			{
				id: EXAMPLE.programmeId,
				name: "Nordlicht",
				currency: "EUR",
				commission: { percent: "8", fixed: "0.00" },
				networkFee: { percent: "2", fixed: "0.00" },
				eventRates: [],
				approvalDays: 30,
				approvalDaysMin: 0,
				approvalDaysMax: 90,
				parksPixels: true,
				parkedDays: 30,
				basketRule: "TOTAL",
				basketNote: "",
				partners: {
					creditsPartners: true,
					clickDays: 30,
					clickParameter: "rbclick",
					showsBaskets: false,
					takesApplications: false,
					isListed: false,
					terms: "",
					hosts: ["nordlicht.example"],
					waitingHosts: [],
				},
				createdAt: EXAMPLE.time,
				archivedAt: null,
			},
		],
	});

/** Reads a programme as the API shows it. */
async function showProgramme(db: Db, programme: Programme): Promise<z.output<typeof PROGRAMME>> {
	return describeProgramme(programme, await listLandingHosts(db, programme.id));
}

function describeProgramme(programme: Programme, hosts: readonly ListedHost[]): z.output<typeof PROGRAMME> {
	const { commission, fee, byType } = ratesOf(programme);
	const isConfirmed = ({ waitingSinceMs }: ListedHost) => waitingSinceMs === null;
	return {
		id: programme.public_id,
		name: programme.name,
		currency: programme.currency,
		commission: showRate(commission),
		networkFee: showRate(fee),
		eventRates: EVENT_TYPES.flatMap((eventType) => {
			const rates = byType[eventType];
			if (rates === undefined) return [];
			return [{ eventType, commission: showRate(rates.commission), networkFee: showRate(rates.fee) }];
		}),
		approvalDays: programme.approval_days,
		approvalDaysMin: programme.approval_days_min,
		approvalDaysMax: programme.approval_days_max,
		parksPixels: programme.parks_pixels === 1,
		parkedDays: programme.parked_days,
		basketRule: programme.basket_rule,
		basketNote: programme.basket_note,
		partners: {
			creditsPartners: programme.credits_partners === 1,
			clickDays: programme.click_days,
			clickParameter: programme.click_parameter,
			showsBaskets: programme.shows_baskets === 1,
			takesApplications: programme.takes_applications === 1,
			isListed: programme.is_listed === 1,
			terms: programme.partner_terms,
			hosts: hosts.filter(isConfirmed).map(sayHost),
			waitingHosts: hosts.filter((host) => !isConfirmed(host)).map(sayHost),
		},
		createdAt: isoTime(programme.created_at_ms),
		archivedAt: timeOrNull(programme.archived_at_ms),
	};
}

/** Finds the programme that the path of a call names. */
export async function findNamed(db: Db, publicId: string): Promise<Result<Programme>> {
	const programme = await findProgramme(db, publicId);
	return programme === undefined ? unknownProgramme(publicId) : succeed(programme);
}

const programme = resource({
	path: `${PATH}/{programmeId}`,
	id: "programmeId",
	noun: "programme",
	schema: PROGRAMME,
	find: findNamed,
	show: showProgramme,
});

/** Terms of a request. On a change, every field is optional and only the given ones change. */
const TERMS_INPUT = {
	name: z.string().meta({ examples: ["Nordlicht"] }),
	commission: RATE_INPUT,
	networkFee: RATE_INPUT,
	eventRates: EVENT_RATES_INPUT.optional(),
	approvalDays: z
		.int()
		.meta({ examples: [30] })
		.optional(),
	approvalDaysMin: z.int().optional(),
	approvalDaysMax: z.int().optional(),
	parksPixels: z.boolean().optional(),
	parkedDays: z.int().optional(),
	basketRule: z.enum(BASKET_RULES).optional(),
	basketNote: z.string().optional(),
};

const CREATION = {
	...TERMS_INPUT,
	currency: z.string().meta({ examples: ["EUR"] }),
	approvalDays: z.int().default(30),
	parksPixels: z.boolean().default(true),
	ownerEmail: z
		.string()
		.meta({
			description: "Email address of the owner, who is invited at once.",
			examples: ["owner@nordlicht.example"],
		})
		.optional(),
};

const CHANGE = z.strictObject(TERMS_INPUT).partial();

type TermsFields = z.output<typeof CHANGE>;

/** Converts the terms of a request for the use case, which checks them. Fields that are left out stay undefined. */
function termsOf(fields: TermsFields, currency: string): Partial<TermsInput> {
	const { commission, networkFee, eventRates, ...others } = fields;
	const terms = {
		...others,
		...(commission === undefined
			? {}
			: { commissionRate: commission.percent, commissionFixed: commission.fixed }),
		...(networkFee === undefined ? {} : { feeRate: networkFee.percent, feeFixed: networkFee.fixed }),
		...(eventRates === undefined
			? {}
			: {
					eventRates: eventRates
						.map(
							(rates) =>
								`${rates.eventType}: ${rateText(rates.commission, currency)}, fee ${rateText(rates.networkFee, currency)}`,
						)
						.join("\n"),
				}),
	};
	return definedOf(terms);
}

/** Names of fields in a call, by the names that the use cases give them in faults. */
const WIRE_FIELDS: Readonly<Record<string, string>> = {
	commission: "commission.percent",
	commissionFixed: "commission.fixed",
	fee: "networkFee.percent",
	feeFixed: "networkFee.fixed",
	email: "ownerEmail",
};

/** Converts the fields of a new programme for the use case, which requires all of these terms. */
function readOpening(body: z.output<z.ZodObject<typeof CREATION>>) {
	const { currency, ownerEmail, name, commission, networkFee, ...rest } = body;
	const { approvalDays, parksPixels } = rest;
	return {
		...termsOf(rest, currency.trim().toUpperCase()),
		...{ name, approvalDays, parksPixels, currency, ownerEmail: ownerEmail ?? null },
		...{ commissionRate: commission.percent, commissionFixed: commission.fixed },
		...{ feeRate: networkFee.percent, feeFixed: networkFee.fixed },
	};
}

const CREATED_PROGRAMME = z.strictObject({
	programme: PROGRAMME,
	owner: SENT_LINK.nullable().describe(
		"The owner's invitation. Null without an owner, and if an earlier call with the same reference created the programme.",
	),
});

/** Returns the fields that were given, without those that are undefined. */
function definedOf<Fields extends object>(
	fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
	const given = Object.entries(fields).filter(([, value]) => value !== undefined);
	// The cast is safe, because `fromEntries` returns the given fields, whose names and types it does not know.
	return Object.fromEntries(given) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
}

/** Converts the given settings to the texts of the page's form. */
function typedSettings(settings: z.output<typeof SETTINGS_CHANGE>): Partial<PartnerTermsInput> {
	const box = (isTicked: boolean | undefined) => (isTicked === undefined ? undefined : isTicked ? "on" : "");
	return definedOf({
		creditsPartners: box(settings.creditsPartners),
		clickDays: settings.clickDays?.toString(),
		clickParameter: settings.clickParameter,
		showsBaskets: box(settings.showsBaskets),
		takesApplications: box(settings.takesApplications),
		isListed: box(settings.isListed),
		terms: settings.terms,
		hosts: settings.hosts?.join("\n"),
	});
}

const programmeRoutes: readonly TokenRoute[] = [
	list({
		path: PATH,
		right: "read",
		operationId: "listProgrammes",
		summary: "List programmes, the newest first",
		description: "Lists all programmes that are not archived, or those that are.",
		filters: {
			search: SEARCH.optional(),
			archived: ARCHIVED.meta({ description: "`true` for archived programmes only." }).optional(),
		},
		item: PROGRAMME,
		noun: "programmes",
		async open({ query }, { store: { db } }) {
			const isArchived = query.archived === "true";
			return succeed({
				name: `network programmes${isArchived ? ", archived" : ""}`,
				async read(page) {
					const { rows, next } = await listProgrammes(db, { ...page, isArchived, search: query.search });
					const ids = rows.map(({ id }) => id);
					const programmes = await findProgrammesById(db, ids);
					const hosts = await findListedHosts(db, ids);
					const items = ids.flatMap((id) => {
						const found = programmes.get(id);
						return found === undefined ? [] : describeProgramme(found, hosts.get(id) ?? []);
					});
					return { items, next };
				},
			});
		},
	}),
	create({
		path: PATH,
		right: "manage",
		operationId: "createProgramme",
		summary: "Create a programme, and invite its owner",
		description:
			"Creates a programme with its terms. With `ownerEmail` the owner is invited in the same step, and nothing is created if that is refused. Partner settings are changed afterwards.",
		fields: CREATION,
		sample: {
			reference: "shop-17",
			name: "Nordlicht",
			currency: "EUR",
			commission: { percent: "8" },
			networkFee: { percent: "2" },
			ownerEmail: "owner@nordlicht.example",
		},
		faults: ["sale", "event type"],
		answer: { description: "The programme.", schema: CREATED_PROGRAMME },
		async open({ body }, deps) {
			const { mails, publicUrl } = deps;
			return creation({
				async create(actor) {
					const invitation = { kind: "invited", actor, mails, publicUrl } as const;
					const opened = await openProgramme(deps, invitation, readOpening(body));
					return opened.ok ? opened : nameWireField(opened, WIRE_FIELDS);
				},
				idOf: (opened) => opened.programme.public_id,
				async show(id, opened) {
					const shown = await programme.read(deps.store.db, id);
					if (!shown.ok) return shown;
					const owner = opened?.owner ?? null;
					return succeed({ programme: shown.value, owner: owner && showLink(owner) });
				},
			});
		},
	}),
	programme.show({
		operationId: "showProgramme",
		summary: "Show a programme",
		description: "Shows a programme with its terms and its settings for partners.",
	}),
	programme.change({
		operationId: "changeProgramme",
		summary: "Change the terms of a programme",
		description:
			"Changes the given terms and leaves the others as they are. Changes apply to conversions that are recorded from now on. The currency never changes.",
		body: CHANGE,
		sample: { commission: { percent: "9" } },
		faults: ["sale", "event type"],
		async change({ id, currency }, { body }, deps, holder) {
			const changed = await changeProgramme(deps, holder, id, termsOf(body, currency));
			return changed.ok ? changed : nameWireField(changed, WIRE_FIELDS);
		},
	}),
	programme.change({
		at: "PATCH /partners",
		operationId: "changePartnerSettings",
		summary: "Change a programme's settings for partners",
		description:
			"Changes the given settings and leaves the others as they are. `hosts` replaces the list of confirmed hosts. Those in `waitingHosts` stay there, also if `hosts` names them.",
		body: SETTINGS_CHANGE,
		sample: { creditsPartners: true, hosts: ["nordlicht.example"] },
		change: ({ id }, { body }, deps, holder) =>
			savePartnerTerms(deps, holder, id, typedSettings(body), { keepsWaitingHosts: true }),
	}),
	programme.change({
		at: "POST /archive",
		operationId: "archiveProgramme",
		summary: "Archive a programme",
		description:
			"It takes no new sales and disappears from the lists. This needs that no conversion is open. If it is repeated, nothing changes.",
		change: ({ public_id: publicId }, _call, deps, holder) => archiveProgramme(deps, holder, publicId),
	}),
	programme.change({
		at: "POST /resume",
		operationId: "resumeProgramme",
		summary: "Resume an archived programme",
		description: "It takes sales again. If it is repeated, nothing changes.",
		change: ({ public_id: publicId }, _call, deps, holder) => resumeProgramme(deps, holder, publicId),
	}),
];

const KEY = z
	.strictObject({
		id: z.string().meta({ examples: [EXAMPLE.keyId] }),
		name: z.string(),
		hint: z.string().describe("The last characters of the key."),
		right: z
			.enum(["report", "decide"])
			.describe("`report`: sales, refunds and reversals. `decide`: also approvals and rejections."),
		createdAt: UTC_TIME,
		lastUsedAt: UTC_TIME.nullable().describe("Accurate to five minutes."),
		revokedAt: UTC_TIME.nullable(),
	})
	.meta({
		id: "ApiKey",
		description: "An API key of a programme, without the key itself.",
		examples: [
			{
				id: EXAMPLE.keyId,
				name: "Shop server",
				hint: "1a2b",
				right: "report",
				createdAt: EXAMPLE.time,
				lastUsedAt: null,
				revokedAt: null,
			},
		],
	});

const KEY_ID = z.string().meta({ examples: [EXAMPLE.keyId] });

const ISSUED_KEY = z.strictObject({
	id: KEY_ID,
	key: z
		.string()
		.nullable()
		.meta({
			description:
				"The key, which is shown only now. Null if an earlier call with the same reference issued it.",
			examples: ["rbk_example"],
		}),
	secret: z
		.string()
		.nullable()
		.meta({
			description: "The signing secret, which comes with the programme's first key and is shown only now.",
			examples: ["rbs_example"],
		}),
});

function showKey(key: ListedKey): z.output<typeof KEY> {
	return {
		id: key.public_id,
		name: key.name,
		hint: key.hint,
		right: key.key_right,
		createdAt: isoTime(key.created_at_ms),
		lastUsedAt: timeOrNull(key.last_used_at_ms),
		revokedAt: timeOrNull(key.revoked_at_ms),
	};
}

const KEYS_PATH = `${PATH}/{programmeId}/keys`;

const keyRoutes: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: KEYS_PATH,
		right: "read",
		operationId: "listKeys",
		summary: "List the API keys of a programme",
		description: `Lists all usable keys, and after them the newest revoked ones, at most ${MAX_REVOKED_LISTED}.`,
		answer: {
			description: "The keys.",
			schema: z.strictObject({ items: z.array(KEY) }),
		},
		faults: ["resource"],
		async handle({ path }, { store }) {
			const found = await findNamed(store.db, path["programmeId"] ?? "");
			if (!found.ok) return found;
			const keys = await listApiKeys(store.db, found.value.id, MAX_REVOKED_LISTED);
			return succeed({ body: { items: keys.map(showKey) } });
		},
	}),
	create({
		path: KEYS_PATH,
		right: "manage",
		operationId: "issueKey",
		summary: "Issue an API key",
		description:
			"Issues a key with which the shop's server reports sales. The first key comes with the signing secret. Only owners issue keys that approve and reject.",
		fields: {
			name: z
				.string()
				.meta({ description: "A number by default.", examples: ["Shop server"] })
				.default(""),
			right: z.enum(["report", "decide"]).default("report"),
		},
		sample: { reference: "shop-17-key", name: "Shop server" },
		faults: ["resource"],
		answer: { description: "The key, which is shown only now.", schema: ISSUED_KEY },
		async open({ path, body }, deps) {
			return creation({
				create: (holder) => issueKey(deps, path["programmeId"] ?? "", holder, body),
				idOf: ({ keyId }) => keyId,
				show: (id, issued) => succeed({ id, key: issued?.key ?? null, secret: issued?.secret ?? null }),
			});
		},
	}),
	route({
		method: "DELETE",
		path: `${KEYS_PATH}/{keyId}`,
		right: "manage",
		operationId: "revokeKey",
		summary: "Revoke an API key",
		description: "Requests with the key are refused from this moment on. A revoked key cannot be restored.",
		answer: {
			description: "The key is revoked.",
			schema: z.strictObject({ id: KEY_ID }),
		},
		faults: ["resource"],
		async handle({ path, holder }, deps) {
			const { programmeId = "", keyId = "" } = path;
			const revoked = await revokeKey(deps, programmeId, keyId, holder);
			return revoked.ok ? succeed({ body: { id: keyId } }) : revoked;
		},
	}),
];

const personRoutes: readonly TokenRoute[] = [
	create({
		path: `${PATH}/{programmeId}/people`,
		right: "manage",
		operationId: "inviteToProgramme",
		summary: "Invite a person to a programme",
		description:
			"Invites an owner, a developer or a viewer. A person who has an account gets access at once. If the person was invited with the same role and has not joined yet, a new invitation replaces the old one.",
		fields: {
			email: z.string().meta({ examples: ["owner@nordlicht.example"] }),
			role: z.enum(PROGRAMME_ROLES).default("owner"),
		},
		sample: { email: "owner@nordlicht.example", role: "owner" },
		faults: ["resource"],
		answer: { description: "The invitation.", schema: SENT_LINK },
		async open({ path, body: { email, role } }, deps) {
			const found = await findNamed(deps.store.db, path["programmeId"] ?? "");
			if (!found.ok) return found;
			return creation({
				create: (holder) => inviteToProgramme(deps, holder, found.value, { email, role }),
				idOf: (sent) => sent.email,
				show: (id, sent) => succeed(showLink(sent ?? { email: id, isMailed: false, link: null })),
			});
		},
	}),
];

export const PROGRAMME_ROUTES: readonly TokenRoute[] = [...programmeRoutes, ...keyRoutes, ...personRoutes];
