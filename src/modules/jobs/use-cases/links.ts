// Imports partner links from other software, so that published links keep working: the code becomes /c/<code>. A
// link must lead to an address of its programme's shop, like every link.

import { readName } from "#core/domain/display-name.ts";
import { checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { type LandingHost, landingUrl, MAX_TARGET_LENGTH, sayHost } from "#modules/partners/domain/click.ts";
import { findLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import { findLinksByCode, insertPartnerLinks } from "#modules/partners/store/partner-links.ts";
import { listPartnerships, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import type { PartnerLink } from "#modules/partners/store/tables.ts";
import { readImportedCode } from "#modules/partners/use-cases/partner-links.ts";
import { withScheme } from "#modules/partners/use-cases/partners.ts";
import { defineImport, type Meant } from "./define-import.ts";
import { PROGRAMME_COLUMN } from "./imported-sale.ts";
import { type Cells, cellOf, compareWith, differ, needsFixing } from "./kind.ts";
import { PARTNER_COLUMN } from "./named-partners.ts";

interface MeantLink extends Meant {
	target: string;
	name: string;
}

interface OwnedLink extends PartnerLink {
	partnership: NamedPartnership | undefined;
}

export const LINKS_IMPORT = defineImport<
	MeantLink,
	ReadonlyMap<number, readonly LandingHost[]>,
	ReadonlyMap<string, OwnedLink>
>({
	name: "links",
	noun: ["link", "links"],
	hint: "One line per link. The code becomes /c/<code> on this service, so published links keep working.",
	importSummary:
		"Imports partner links from other software, so that published links keep working as /c/<code>.",
	columns: [
		PARTNER_COLUMN,
		PROGRAMME_COLUMN,
		{
			name: "code",
			means:
				"The part of the published address that tells links apart. It becomes /c/<code>. Upper and lower case are the same.",
		},
		{
			name: "target",
			means: "The page of the shop, such as https://garden.example/sale.",
			maxCharacters: MAX_TARGET_LENGTH + 1,
		},
		{ name: "name", means: "A name for the partner's own list.", isOptional: true },
	],
	example: `partner;programme;code;target;name
Bergblog;Garden Shop;berg_2019;https://garden.example/;Sidebar
Bergblog;Garden Shop;aB3xY;https://garden.example/sale?season=spring;`,
	advice:
		"Imported links cannot be removed, and work at once. Redirect the old addresses to /c/<code> of this service, with the rest of the address unchanged.",
	keyOf: (cells) => cellOf(cells, "code").toLowerCase(),

	find: findLandingHosts,

	read(cells, { programme, partnership }, hosts) {
		const read = checkAll({
			code: readImportedCode(cellOf(cells, "code")),
			target: readTarget(cells, programme.name, hosts.get(programme.id) ?? []),
			name: cellOf(cells, "name") === "" ? succeed("") : readName(cellOf(cells, "name"), "the link's"),
		});
		return read.ok ? succeed({ programme, partnership, ...read.value }) : read;
	},

	async findPresent(db, lines) {
		const links = await findLinksByCode(
			db,
			lines.map(({ code }) => code),
		);
		const ids = [...new Set(links.map(({ partnership_id }) => partnership_id))];
		const owners = new Map((await listPartnerships(db, "id", ids)).map((found) => [found.id, found]));
		return new Map(
			links.map((link) => [link.code, { ...link, partnership: owners.get(link.partnership_id) }]),
		);
	},

	compare({ partnership, code, target, name }, present) {
		const link = present.get(code);
		if (link === undefined) return null;
		const owner = link.partnership;
		if (owner?.id !== partnership.id) {
			return needsFixing(
				`The link code ${code} is taken by “${owner?.partner_name ?? "another partner"}” in “${owner?.programme_name ?? "another programme"}”. Give this link another code.`,
			);
		}
		return compareWith("This link", [
			...differ("target", link.target, target),
			...differ("name", link.name || "none", name, name !== ""),
		]);
	},

	async make(trx, lines, nowMs) {
		const inserted = await insertPartnerLinks(
			trx,
			lines.map(({ partnership, code, target, name }) => ({
				...{ code, target, name },
				partnership_id: partnership.id,
				created_at_ms: nowMs,
			})),
		);
		const codes = new Set(inserted.map(({ code }) => code));
		return ({ code }) => codes.has(code);
	},

	sayTaken: ({ code }) => `The link code ${code} was taken a moment ago. Give this link another code.`,
});

function readTarget(cells: Cells, programmeName: string, hosts: readonly LandingHost[]): Result<string> {
	const url = landingUrl(withScheme(cellOf(cells, "target")), hosts);
	if (url !== null) return succeed(url.href);
	const page = `the Partners page of “${programmeName}”`;
	const detail =
		hosts.length === 0
			? `No link can lead to “${programmeName}” yet. Enter or confirm its shop addresses on ${page} first.`
			: `The target must begin with https:// and one of these hosts, without a port: ${hosts.map(sayHost).join(", ")}. Correct it, or add its host on ${page} first.`;
	return refuse("foreign_target", detail, "target");
}
