// Imports programmes and their people from other software. A programme passes the same checks as on the page.
// Owners and other people get an account and their role. They are mailed only if the import asks for it.
// Otherwise staff send the link from the People page when the shop is ready.

import { foldMailAddress, parseName } from "#core/domain/display-name.ts";
import { type Checked, checkAll, plainWords, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { shortenRate } from "#core/domain/money.ts";
import type { ProgrammePlace } from "#core/domain/place.ts";
import { MAX_BY_TYPE_LENGTH } from "#core/domain/rate-words.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { admit, findOrCreateInvitee } from "#core/people/invitations.ts";
import { parseEmail, parseRole } from "#core/people/people.ts";
import { findNamedProgrammes } from "#core/programmes/named-programmes.ts";
import {
	insertOpened,
	type OpeningInput,
	type ParsedOpening,
	parseOpening,
	staffCannotOwn,
} from "#core/programmes/open-programme.ts";
import { termsOf } from "#core/programmes/programme-terms.ts";
import { type AuditNote, noteAudits } from "#core/store/queries/audit.ts";
import { findPersonByEmail, type Person, updatePerson } from "#core/store/queries/people.ts";
import { addToProgramme, findRole, listOwnerEmails } from "#core/store/queries/programme-people.ts";
import {
	findProgrammesByName,
	lockProgramme,
	type Programme,
	updateProgramme,
} from "#core/store/queries/programmes.ts";
import { removeProgrammeInvitation } from "#core/store/queries/sign-in-links.ts";
import type { Db } from "#core/store/store.ts";
import { type LandingHost, sayHost } from "#modules/partners/domain/click.ts";
import { listLandingHosts, replaceLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import { readHosts } from "#modules/partners/use-cases/terms.ts";
import { sayUninvited, whyUninvited } from "./imported-people.ts";
import {
	type ApplyDeps,
	type Cells,
	cellOf,
	compareWith,
	differ,
	IMPORT_WORDS,
	type ImportKind,
	inOrder,
	type JobRow,
	MAX_IMPORTED_ROWS,
	needsFixing,
	needsNoChange,
	type RowVerdict,
	refuseLine,
	willChange,
} from "./kind.ts";

/**
 * Number of lines in one transaction. It is small, because each line takes several statements, and meanwhile
 * everybody who creates a sign-in link waits for the access lock.
 */
const BATCH_ROWS = 50;

/** Number of characters that are read of a list of shop addresses. A longer list has more than 50 hosts. */
const MAX_ADDRESSES_CHARACTERS = 4_000;

export const PROGRAMMES_IMPORT: ImportKind = {
	name: "programmes",
	noun: ["programme", "programmes"],
	hint: "One line per programme. Its owner gets an account but no mail.",
	importSummary: "Imports programmes from other software, with their owners. No mail is sent.",
	columns: [
		{ name: "programme", means: "The name that people read. Files of people and conversions name it, too." },
		{
			name: "owner_email",
			means: "The person who manages it. They get an account, or keep the one they have.",
		},
		{ name: "currency", means: "Three letters, such as EUR. It cannot be changed later." },
		{ name: "commission", means: "The affiliate's share of the amount in percent, such as 7.5 or 7,5." },
		{
			name: "commission_fixed",
			means: "An amount in the programme's currency that the affiliate gets for each conversion as well.",
			isOptional: true,
		},
		{ name: "fee", means: "The network's own share in percent." },
		{
			name: "fee_fixed",
			means: "An amount that the network gets for each conversion as well.",
			isOptional: true,
		},
		{
			name: "event_rates",
			means:
				"Other rates for some event types, separated by semicolons, such as “LEAD: 5.00 EUR, fee 1.00 EUR; RENEWAL: 4 %, fee 0”.",
			isOptional: true,
			maxCharacters: MAX_BY_TYPE_LENGTH + 1,
		},
		{ name: "approval_days", means: "Days until a conversion is approved automatically." },
		{
			name: "parks_pixels",
			means:
				"yes if a sale that the pixel reports waits for the shop's server to confirm it. By default it is yes.",
			isOptional: true,
		},
		{
			name: "credits_partners",
			means: "yes if its sales are credited to partners. By default it is no.",
			isOptional: true,
		},
		{
			name: "shop_addresses",
			means:
				"Host names to which partners' links may lead, separated by spaces. *. before a host includes its subdomains.",
			isOptional: true,
			maxCharacters: MAX_ADDRESSES_CHARACTERS,
		},
	],
	example: `programme;owner_email;currency;commission;commission_fixed;fee;event_rates;approval_days;parks_pixels;credits_partners;shop_addresses
Garden Shop;owner@garden.example;EUR;7,5;;2;;30;yes;yes;garden.example
Book Club;owner@books.example;GBP;10;0,50;1,25;"LEAD: 5,00 GBP, fee 1,00 GBP; RENEWAL: 4 %, fee 0";14;no;yes;books.example`,
	advice:
		"Imported programmes cannot be removed. Their terms can be changed on their Settings pages. No mail is sent.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: true,
	keyOf: (cells) => cellOf(cells, "programme"),
	judge: (db, _, rows) => inOrder(rows, async (row) => (await judgeProgramme(db, row)).verdict),
	apply: (trx, deps, rows) => inOrder(rows, (row) => applyProgramme(trx, deps, row)),
};

type JudgedProgramme = { verdict: RowVerdict; meant: MeantProgramme | null };

interface MeantProgramme {
	opening: ParsedOpening<string>;
	creditsPartners: boolean;
	hosts: readonly LandingHost[];
}

async function applyProgramme(trx: Db, deps: ApplyDeps, row: JobRow): Promise<RowVerdict> {
	const { verdict, meant } = await judgeProgramme(trx, row);
	if (verdict.kind !== "change" || meant === null) return verdict;
	const way = { kind: "imported", personId: deps.personId } as const;
	const opened = await insertOpened(trx, deps, way, meant.opening);
	if (!opened.ok) return needsFixing(plainWords(opened.fault));
	const programme = await lockProgramme(trx, opened.value.programme.id);
	if (programme === undefined) throw new Error("a programme that this transaction inserted is missing");
	if (meant.creditsPartners) await updateProgramme(trx, programme, { credits_partners: 1 });
	await replaceLandingHosts(trx, programme, meant.hosts);
	return verdict;
}

async function judgeProgramme(db: Db, { cells }: JobRow): Promise<JudgedProgramme> {
	const settle = (verdict: RowVerdict): JudgedProgramme => ({ verdict, meant: null });
	const parksPixels = readYesNo(cells, "parks_pixels", "yes");
	const read = checkAll<MeantProgramme & { parksPixels: boolean }>({
		opening: parseOpening(inputOf(cells, parksPixels.ok && parksPixels.value)),
		parksPixels,
		creditsPartners: readYesNo(cells, "credits_partners", "no"),
		hosts: readHosts(cellOf(cells, "shop_addresses")),
	});
	if (!read.ok) return settle(refuseLine(read));
	const { parksPixels: _, ...meant } = read.value;
	const { terms, email } = meant.opening;
	const [known, another] = await findProgrammesByName(db, [terms.name]);
	if (another !== undefined) {
		const detail = `Several programmes are called “${terms.name}” here. Rename all but one first.`;
		return settle(needsFixing(detail));
	}
	if (known !== undefined) return settle(await compareProgramme(db, known, meant, cells));
	const owner = await findPersonByEmail(db, email);
	if (owner?.kind === "staff") return settle(needsFixing(staffCannotOwn(email)));
	return { verdict: willChange(null), meant };
}

async function compareProgramme(
	db: Db,
	known: Programme,
	{ opening: { terms, currency, email }, creditsPartners, hosts }: MeantProgramme,
	cells: Cells,
): Promise<RowVerdict> {
	// An empty optional column is not compared with the stored programme.
	const says = (column: string) => cellOf(cells, column) !== "";
	const sayHosts = (listed: readonly LandingHost[]) => listed.map(sayHost).sort().join(", ") || "none";
	const knownHosts = sayHosts(await listLandingHosts(db, known.id));
	const owners = await listOwnerEmails(db, known.id);
	const here = termsOf(known);
	const inLine = (eventRates: string) => eventRates.replaceAll("\n", "; ") || "none";
	const differences = [
		...differ("currency", known.currency, currency),
		...differ("commission", shortenRate(here.commissionRate), shortenRate(terms.commissionRate)),
		...differ("commission_fixed", here.commissionFixed, terms.commissionFixed, says("commission_fixed")),
		...differ("fee", shortenRate(here.feeRate), shortenRate(terms.feeRate)),
		...differ("fee_fixed", here.feeFixed, terms.feeFixed, says("fee_fixed")),
		...differ("event_rates", inLine(here.eventRates), inLine(terms.eventRates), says("event_rates")),
		...differ("approval_days", String(here.approvalDays), String(terms.approvalDays)),
		...differ("parks_pixels", yesNo(here.parksPixels), yesNo(terms.parksPixels), says("parks_pixels")),
		...differ(
			"credits_partners",
			yesNo(known.credits_partners === 1),
			yesNo(creditsPartners),
			says("credits_partners"),
		),
		...differ("shop_addresses", knownHosts, sayHosts(hosts), says("shop_addresses")),
		...differ("owner", owners.join(" and ") || "nobody", email, !owners.includes(email)),
	];
	return compareWith("This programme", differences);
}

function inputOf(cells: Cells, parksPixels: boolean): OpeningInput<string> {
	const days = cellOf(cells, "approval_days");
	return {
		name: cellOf(cells, "programme"),
		ownerEmail: cellOf(cells, "owner_email"),
		currency: cellOf(cells, "currency"),
		commissionRate: cellOf(cells, "commission"),
		commissionFixed: cellOf(cells, "commission_fixed"),
		feeRate: cellOf(cells, "fee"),
		feeFixed: cellOf(cells, "fee_fixed"),
		eventRates: cellOf(cells, "event_rates"),
		approvalDays: /^\d{1,6}$/.test(days) ? Number(days) : Number.NaN,
		parksPixels,
	};
}

function readYesNo(cells: Cells, column: string, byDefault: "yes" | "no"): Result<boolean> {
	const word = cellOf(cells, column).toLowerCase() || byDefault;
	if (["yes", "true", "1"].includes(word)) return succeed(true);
	if (["no", "false", "0"].includes(word)) return succeed(false);
	const detail = `${column} must be yes or no, or be left empty for ${byDefault}.`;
	return refuse("invalid_field", detail, column);
}

function yesNo(value: boolean): string {
	return value ? "yes" : "no";
}

export const PEOPLE_IMPORT: ImportKind = {
	name: "people",
	noun: ["person", "people"],
	hint: "One line for each person and programme. No mail is sent unless you choose it after the preview.",
	importSummary:
		"Imports people from other software into their programmes. No mail is sent without --invite.",
	columns: [
		{ name: "email", means: "One line for each person and programme." },
		{ name: "name", means: "People who have an account keep the name they chose.", isOptional: true },
		{ name: "programme", means: "Its name as it is here, or its ID (prg_…)." },
		{ name: "role", means: "owner, developer or viewer." },
	],
	example: `email,name,programme,role
dev@garden.example,Ada Green,Garden Shop,developer
owner@garden.example,,Book Club,viewer`,
	advice: "People can be removed on the People page of their programme.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: true,
	invitesLater: "When a shop is ready, send its people their links from its People page.",
	sayRemarks: sayUninvited,
	keyOf: (cells) => [foldMailAddress(cellOf(cells, "email")), cellOf(cells, "programme")].join("\n"),
	judge: (db, _, rows) => inOrder(rows, async (row) => (await judgePerson(db, row)).verdict),
	async apply(trx, deps, rows) {
		const added: AuditNote[] = [];
		const verdicts = await inOrder(rows, (row) => applyPerson(trx, deps, row, added));
		await noteAudits(trx, added, deps.clock.nowMs());
		return verdicts;
	},
};

interface MeantPerson {
	email: string;
	/** Name of the person, or empty if the line has none. */
	name: string;
	place: ProgrammePlace & { programme: Programme };
}

type JudgedPerson = { verdict: RowVerdict; meant: MeantPerson | null };

async function judgePerson(db: Db, { cells }: JobRow): Promise<JudgedPerson> {
	const read = await readPerson(db, cells);
	if (!read.ok) return { verdict: refuseLine(read), meant: null };
	const { email, place } = read.value;
	const person = await findPersonByEmail(db, email);
	const compared = person === undefined ? null : await comparePerson(db, person, place);
	return { verdict: compared ?? willChange(null), meant: read.value };
}

/** Compares a line with the person's present role. Returns null if the person is not in the programme yet. */
async function comparePerson(
	db: Db,
	person: Person,
	{ programme, role }: ProgrammePlace,
): Promise<RowVerdict | null> {
	if (person.kind === "staff") {
		return needsFixing(`${person.email} is one of the network's staff, who see every programme already.`);
	}
	const present = await findRole(db, programme.id, person.id);
	if (present === undefined) return null;
	if (present === role) return needsNoChange();
	return needsFixing(
		`${person.email} is here already, and differs: role ${present} here, ${role} in the file. Change it on the People page, or correct the line.`,
	);
}

async function readPerson(db: Db, cells: Cells): Promise<Checked<MeantPerson>> {
	const named = cellOf(cells, "programme");
	const role = parseRole(cellOf(cells, "role").toLowerCase());
	const read = checkAll({
		email: parseEmail(cellOf(cells, "email")),
		name: readPersonName(cellOf(cells, "name")),
		role: role.ok ? role : refuse("unknown_role", "The role must be owner, developer or viewer.", "role"),
		programme: (await findNamedProgrammes(db, [named]))(named),
	});
	if (!read.ok) return read;
	const { email, name, ...place } = read.value;
	return succeed({ email, name, place: { kind: "programme", ...place } });
}

function readPersonName(name: string): Result<string> {
	if (name === "" || parseName(name) !== null) return succeed(name);
	return refuse("invalid_name", "The name is too long, or has characters that cannot be seen.", "name");
}

/**
 * Adds the person to the programme. If the person is not sent an invitation, an audit entry is appended to
 * `added`.
 */
async function applyPerson(trx: Db, deps: ApplyDeps, row: JobRow, added: AuditNote[]): Promise<RowVerdict> {
	const { verdict, meant } = await judgePerson(trx, row);
	if (verdict.kind !== "change" || meant === null) return verdict;
	const { email, name, place } = meant;
	const found = await findOrCreateInvitee(trx, deps, email, "shop");
	if (!found.ok) return needsFixing(plainWords(found.fault));
	const person = found.value;
	// A person who has a name chose it themselves, so it is not overwritten.
	if (name !== "" && person.name === "") await updatePerson(trx, person, { name });
	if (deps.inviting === null) {
		added.push(await addSilently(trx, deps, person, place));
		return verdict;
	}
	const whyNot = await whyUninvited(trx, deps, person, "programme");
	if (whyNot !== null) {
		added.push(await addSilently(trx, deps, person, place));
		return willChange(null, whyNot);
	}
	const actor = deps.personId === null ? COMMAND_LINE : ({ personId: deps.personId, kind: "staff" } as const);
	await admit(trx, { ...deps, ...deps.inviting }, person, place, actor);
	return verdict;
}

async function addSilently(
	trx: Db,
	{ personId }: ApplyDeps,
	{ id, email }: Person,
	{ programme, role }: ProgrammePlace,
): Promise<AuditNote> {
	await addToProgramme(trx, programme.id, id, role);
	await removeProgrammeInvitation(trx, programme.id, email);
	return { personId, programmeId: programme.id, action: "person.imported", subject: email, detail: role };
}
