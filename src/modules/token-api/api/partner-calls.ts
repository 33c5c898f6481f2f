// Calls of the network's API about partners.

import * as z from "zod";
import { UTC_TIME } from "#core/api/answer-fields.ts";
import { type Result, refusalOf, succeed } from "#core/domain/fault.ts";
import { isoTime } from "#core/domain/time.ts";
import { findPartner, listPartners } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { PARTNER_ID } from "#modules/partners/api/partner-id.ts";
import {
	invitePartner,
	readPartner as parsePartner,
	renamePartner,
} from "#modules/partners/use-cases/partners.ts";
import { endPartner } from "#modules/partners/use-cases/partnerships.ts";
import { create, creation } from "./create-route.ts";
import { ARCHIVED, ENDS_CLICKS, EXAMPLE, SEARCH, SENT_LINK, showLink, timeOrNull } from "./fields.ts";
import { list } from "./list-route.ts";
import { resource } from "./resource.ts";
import type { TokenRoute } from "./route.ts";

const PATH = "/v1/network/partners";

const PARTNER = z
	.strictObject({
		id: PARTNER_ID,
		name: z.string(),
		site: z.string().describe("The address of the partner's website, or empty."),
		createdAt: UTC_TIME,
		archivedAt: UTC_TIME.nullable().describe("The time at which staff archived the partner, or null."),
	})
	.meta({
		id: "Partner",
		description: "A company or person that brings sales.",
		examples: [
			{
				id: EXAMPLE.partnerId,
				name: "Blog",
				site: "https://blog.example/",
				createdAt: EXAMPLE.time,
				archivedAt: null,
			},
		],
	});

function showPartner(partner: Partner): z.output<typeof PARTNER> {
	const { public_id: id, name, site, created_at_ms: createdAtMs, archived_at_ms: archivedAtMs } = partner;
	return { id, name, site, createdAt: isoTime(createdAtMs), archivedAt: timeOrNull(archivedAtMs) };
}

export async function findNamedPartner(db: Db, publicId: string): Promise<Result<Partner>> {
	const partner = await findPartner(db, publicId);
	return partner === undefined ? refusalOf("unknown_partner", { id: publicId }) : succeed(partner);
}

const partner = resource({
	path: `${PATH}/{partnerId}`,
	id: "partnerId",
	noun: "partner",
	schema: PARTNER,
	find: findNamedPartner,
	show: async (_db, found) => showPartner(found),
});

export const PARTNER_ROUTES: readonly TokenRoute[] = [
	list({
		path: PATH,
		right: "read",
		operationId: "listPartners",
		summary: "List partners, the newest first",
		description: "Lists all partners that are not archived, or those that are.",
		filters: {
			search: SEARCH.optional(),
			archived: ARCHIVED.meta({ description: "`true` for archived partners only." }).optional(),
		},
		item: PARTNER,
		noun: "partners",
		async open({ query }, { store }) {
			const { search = "" } = query;
			const archived = query.archived === "true" ? "only" : "no";
			return succeed({
				name: `network partners, archived: ${archived}`,
				async read(page) {
					const { rows, next } = await listPartners(store.db, { ...page, archived, search });
					return { items: rows.map(showPartner), next };
				},
			});
		},
	}),
	create({
		path: PATH,
		right: "manage",
		operationId: "createPartner",
		summary: "Create a partner, and invite a person to sign in for it",
		description: "Creates a partner in no programme. Add it to programmes with a partnership for each.",
		fields: {
			name: z.string().meta({ examples: ["Blog"] }),
			site: z
				.string()
				.meta({ examples: ["https://blog.example/"] })
				.default(""),
			email: z.string().meta({ examples: ["partner@blog.example"] }),
		},
		sample: { reference: "partner-4", name: "Blog", email: "partner@blog.example" },
		answer: {
			description: "The partner.",
			schema: z.strictObject({
				partner: PARTNER,
				invitation: SENT_LINK.nullable().describe(
					"Null if an earlier call with the same reference created the partner.",
				),
			}),
		},
		async open({ body: { name, site, email } }, deps) {
			const parsed = parsePartner({ name, site, email });
			return creation({
				...(parsed.ok ? { values: parsed.value } : {}),
				create: (holder) => invitePartner(deps, holder, { name, site, email }),
				idOf: (invited) => invited.partner.public_id,
				async show(id, invited) {
					const shown = await partner.read(deps.store.db, id);
					if (!shown.ok) return shown;
					return succeed({ partner: shown.value, invitation: invited && showLink(invited) });
				},
			});
		},
	}),
	partner.show({
		operationId: "showPartner",
		summary: "Show a partner",
		description: "Shows one partner. Its partnerships are a list of their own.",
	}),
	partner.change({
		operationId: "changePartner",
		summary: "Change a partner's name or site",
		description: "Changes the given fields and leaves the others as they are.",
		body: z.strictObject({ name: z.string(), site: z.string() }).partial(),
		sample: { name: "Blog" },
		change: ({ id }, { body }, deps, holder) => renamePartner(deps, holder, id, body),
	}),
	partner.change({
		at: "POST /end",
		operationId: "endPartner",
		summary: "End all partnerships of a partner",
		description:
			"The partner keeps what was earned. Its links lead to the shops without a click ID, and its codes credit nobody. If it is repeated, nothing changes.",
		body: z.strictObject({ endsClicks: ENDS_CLICKS }),
		sample: { endsClicks: false },
		change: ({ id }, { body }, deps, holder) => endPartner(deps, holder, id, body.endsClicks),
	}),
];
