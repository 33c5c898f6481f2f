// Partner links in the APIs of the network and of partners.

import * as z from "zod";
import { UTC_TIME } from "#core/api/answer-fields.ts";
import { succeed } from "#core/domain/fault.ts";
import { isoTime } from "#core/domain/time.ts";
import { findPartnerLink, pagePartnerLinks } from "#modules/partners/store/partner-links.ts";
import type { NamedPartnership } from "#modules/partners/store/partnerships.ts";
import type { PartnerLink } from "#modules/partners/store/tables.ts";
import { makePartnerLink, normalizeLink } from "#modules/partners/use-cases/partner-links.ts";
import { type Creation, create } from "./create-route.ts";
import { EXAMPLE, PROGRAMME_ID } from "./fields.ts";
import { list } from "./list-route.ts";
import { findNamedPartnership, PARTNERSHIP_PATH } from "./partnership-calls.ts";
import type { TokenApiDeps, TokenRoute } from "./route.ts";

export const LINK = z
	.strictObject({
		code: z.string().meta({ examples: ["summer"] }),
		url: z
			.string()
			.meta({ description: "The address to publish.", examples: ["https://network.example/c/summer"] }),
		name: z.string().meta({ examples: ["Summer"] }),
		target: z.string().meta({ examples: ["https://nordlicht.example/"] }),
		programId: PROGRAMME_ID,
		createdAt: UTC_TIME.meta({ examples: [EXAMPLE.time] }),
	})
	.meta({ id: "PartnerLink", description: "A partner's link to a page of the shop." });

export const LINK_INPUT = {
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

type LinkFields = z.output<z.ZodObject<typeof LINK_INPUT>>;

/** Returns the creation of a link of a partnership. */
export function linkCreation(
	deps: TokenApiDeps,
	partnership: NamedPartnership,
	{ name, target, code }: LinkFields,
): Creation<PartnerLink, z.output<typeof LINK>> {
	const owner = { partnerId: partnership.partner_id, partnershipId: partnership.public_id };
	return {
		// The calls of the network and of the partner store their references under the same name.
		kind: "createLink",
		values: normalizeLink({ name, target, code }),
		create: (holder) => makePartnerLink(deps, holder, owner, { name, target, code }),
		idOf: (link) => link.code,
		async show(id) {
			const link = await findPartnerLink(deps.store.db, "code", id);
			if (link === undefined) throw new Error("links are never deleted");
			return succeed(showPartnerLink(deps, link, partnership.programme_public_id));
		},
	};
}

export const LINK_ROUTES: readonly TokenRoute[] = [
	list({
		path: `${PARTNERSHIP_PATH}/links`,
		right: "read",
		operationId: "listPartnershipLinks",
		summary: "List the links of a partnership, the newest first",
		description: "Links are never removed. Those of an ended partnership lead to the shop and credit nobody.",
		item: LINK,
		noun: "links",
		faults: ["resource"],
		async open({ path }, deps) {
			const found = await findNamedPartnership(deps.store.db, path["partnershipId"] ?? "");
			if (!found.ok) return found;
			const { id, programme_public_id: programId } = found.value;
			return succeed({
				name: `links of partnership:${id}`,
				async read(page) {
					const { rows, next } = await pagePartnerLinks(deps.store.db, [id], page);
					return { items: rows.map((link) => showPartnerLink(deps, link, programId)), next };
				},
			});
		},
	}),
	create({
		path: `${PARTNERSHIP_PATH}/links`,
		right: "manage",
		operationId: "createPartnershipLink",
		summary: "Create a link for a partner",
		description: "The link leads to a page at one of the programme's confirmed hosts.",
		fields: LINK_INPUT,
		sample: { target: "https://nordlicht.example/", code: "summer" },
		faults: ["resource"],
		answer: { description: "The link.", schema: LINK },
		async open({ path, body }, deps) {
			const found = await findNamedPartnership(deps.store.db, path["partnershipId"] ?? "");
			return found.ok ? succeed(linkCreation(deps, found.value, body)) : found;
		},
	}),
];
