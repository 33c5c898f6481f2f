// Imports partner links from other software, so that published links keep working: the code becomes /c/<code>. A
// link must lead to an address of its programme's shop, like every link.

import { BATCH_ROWS } from "#core/conversions/deps.ts";
import { readName } from "#core/domain/display-name.ts";
import { checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import type { Db } from "#core/store/store.ts";
import { landingUrl, MAX_TARGET_LENGTH, sayHost } from "#modules/partners/domain/click.ts";
import { findLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import { findLinksByCode, insertPartnerLinks } from "#modules/partners/store/partner-links.ts";
import { listPartnerships, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import type { PartnerLink } from "#modules/partners/store/tables.ts";
import { readImportedCode } from "#modules/partners/use-cases/partner-links.ts";
import { withScheme } from "#modules/partners/use-cases/partners.ts";
import { noteImported } from "./audit-imported.ts";
import { PROGRAMME_COLUMN } from "./imported-sale.ts";
import {
	type ApplyDeps,
	type Cells,
	cellOf,
	compareWith,
	differ,
	IMPORT_WORDS,
	type ImportKind,
	type JobRow,
	MAX_IMPORTED_ROWS,
	needsFixing,
	type ReadLine,
	type RowVerdict,
	refuseLine,
	willChange,
} from "./kind.ts";
import {
	type ActiveAgreement,
	findNamedAgreements,
	lockNamedPartnerships,
	PARTNER_COLUMN,
	requireActive,
} from "./named-partners.ts";

export const LINKS_IMPORT: ImportKind = {
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
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: false,
	keyOf: (cells) => cellOf(cells, "code").toLowerCase(),
	judge: async (db, _, rows) => (await judgeLinks(db, rows)).map(({ verdict }) => verdict),
	apply: applyLinks,
};

interface MeantLink extends ActiveAgreement {
	code: string;
	target: string;
	name: string;
}

interface JudgedLink {
	verdict: RowVerdict;
	/** The link to make, or null if the line makes none. */
	meant: MeantLink | null;
}

async function judgeLinks(db: Db, rows: readonly JobRow[]): Promise<JudgedLink[]> {
	const read = await readLinks(db, rows);
	const codes = read.flatMap((one) => (one.ok ? [one.value.code] : []));
	const existing = await findOwnedLinks(db, codes);
	return read.map((one) => {
		if (!one.ok) return { verdict: refuseLine(one), meant: null };
		const present = existing.get(one.value.code);
		return present === undefined
			? { verdict: willChange(null), meant: one.value }
			: { verdict: compare(present, one.value), meant: null };
	});
}

interface OwnedLink extends PartnerLink {
	partnership: NamedPartnership | undefined;
}

async function findOwnedLinks(db: Db, codes: readonly string[]): Promise<ReadonlyMap<string, OwnedLink>> {
	const links = await findLinksByCode(db, codes);
	const ids = [...new Set(links.map(({ partnership_id }) => partnership_id))];
	const owners = new Map((await listPartnerships(db, "id", ids)).map((found) => [found.id, found]));
	return new Map(links.map((link) => [link.code, { ...link, partnership: owners.get(link.partnership_id) }]));
}

function compare({ partnership: owner, target, name }: OwnedLink, meant: MeantLink): RowVerdict {
	if (owner?.id !== meant.partnership.id) {
		return needsFixing(
			`The link code ${meant.code} is taken by “${owner?.partner_name ?? "another partner"}” in “${owner?.programme_name ?? "another programme"}”. Give this link another code.`,
		);
	}
	return compareWith("This link", [
		...differ("target", target, meant.target),
		...differ("name", name || "none", meant.name, meant.name !== ""),
	]);
}

async function readLinks(db: Db, rows: readonly JobRow[]): Promise<ReadLine<MeantLink>[]> {
	const agreementOf = await findNamedAgreements(db, rows);
	const agreements = rows.map(({ cells }) => requireActive(agreementOf(cells)));
	const ids = new Set(agreements.flatMap((one) => (one.ok ? [one.value.programme.id] : [])));
	const hosts = await findLandingHosts(db, [...ids]);
	return rows.map(({ cells }, index) => {
		const agreement = agreements[index];
		if (agreement === undefined) throw new Error("a line has no agreement");
		if (!agreement.ok) return agreement;
		const { programme, partnership } = agreement.value;
		const read = checkAll({
			code: readImportedCode(cellOf(cells, "code")),
			target: readTarget(cells, programme.name, hosts.get(programme.id) ?? []),
			name: cellOf(cells, "name") === "" ? succeed("") : readName(cellOf(cells, "name"), "the link's"),
		});
		return read.ok ? succeed({ programme, partnership, ...read.value }) : read;
	});
}

function readTarget(
	cells: Cells,
	programmeName: string,
	hosts: Parameters<typeof landingUrl>[1],
): Result<string> {
	const url = landingUrl(withScheme(cellOf(cells, "target")), hosts);
	if (url !== null) return succeed(url.href);
	const page = `the Partners page of “${programmeName}”`;
	const detail =
		hosts.length === 0
			? `No link can lead to “${programmeName}” yet. Enter or confirm its shop addresses on ${page} first.`
			: `The target must begin with https:// and one of these hosts, without a port: ${hosts.map(sayHost).join(", ")}. Correct it, or add its host on ${page} first.`;
	return refuse("foreign_target", detail, "target");
}

async function applyLinks(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	// The partnerships are locked before the lines are judged, so that none of them ends meanwhile.
	await lockNamedPartnerships(trx, rows);
	const judged = await judgeLinks(trx, rows);
	const created_at_ms = deps.clock.nowMs();
	const meant = judged.flatMap((one) => one.meant ?? []);
	const inserted = await insertPartnerLinks(
		trx,
		meant.map(({ partnership, code, target, name }) => ({
			...{ code, target, name, created_at_ms },
			partnership_id: partnership.id,
		})),
	);
	const insertedCodes = new Set(inserted.map(({ code }) => code));
	await noteImported(
		trx,
		deps,
		"links",
		meant
			.filter(({ code }) => insertedCodes.has(code))
			.map(({ partnership, code }) => ({ partnership, text: code })),
	);
	return judged.map(({ verdict, meant: link }) =>
		link === null || insertedCodes.has(link.code)
			? verdict
			: needsFixing(`The link code ${link.code} was taken a moment ago. Give this link another code.`),
	);
}
