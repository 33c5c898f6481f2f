// Imports partners from other software: each with the person who signs in for it, and with its partnerships. Lines
// with the same name are about one partner. It gets the programme's present terms, as if staff had added it on a
// page. People are mailed only if the import asks for it. Otherwise staff send the link from the partner's page.

import { foldMailAddress } from "#core/domain/display-name.ts";
import { type Checked, checkAll, plainWords, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { type PartnershipRates, type Rate, storedRate, writeByType, writeRate } from "#core/domain/rate.ts";
import { MAX_BY_TYPE_LENGTH, parseCommissionsByType, sayByType, sayRate } from "#core/domain/rate-words.ts";
import { type AuditedActor, COMMAND_LINE } from "#core/people/actor.ts";
import { admit, findOrCreateInvitee } from "#core/people/invitations.ts";
import { findNamedProgrammes } from "#core/programmes/named-programmes.ts";
import type { Locked } from "#core/store/locked.ts";
import { addPartnerPerson, listPartnerEmails } from "#core/store/queries/partner-people.ts";
import { findPartnersByName, insertPartner } from "#core/store/queries/partners.ts";
import { findPersonByEmail, type Person } from "#core/store/queries/people.ts";
import { lockProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { commissionsOf } from "#modules/partners/store/credits.ts";
import { findPartnershipsBetween, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import { note, type PartnerInput, placeOf, readPartner } from "#modules/partners/use-cases/partners.ts";
import { joinProgramme, judgeArchived } from "#modules/partners/use-cases/partnerships.ts";
import { sayUninvited, whyUninvited } from "./imported-people.ts";
import { PROGRAMME_COLUMN } from "./imported-sale.ts";
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
	type ReadLine,
	type RowVerdict,
	refuseLine,
	willChange,
} from "./kind.ts";
import { sayEnded } from "./named-partners.ts";
import { readWrittenRate } from "./written-rate.ts";

/**
 * Number of lines in one transaction. It is small, because others wait for the access lock meanwhile, as when
 * programmes are imported.
 */
const BATCH_ROWS = 50;

export const PARTNERS_IMPORT: ImportKind = {
	name: "partners",
	noun: ["partnership", "partnerships"],
	hint: "One line for each partner and programme. No mail is sent unless you choose it after the preview.",
	importSummary:
		"Imports partners from other software into their programmes, with their rates. No mail is sent without --invite.",
	columns: [
		{
			name: "partner",
			means: "The name that people read. Lines with the same name are about one partner.",
			aliases: "name",
		},
		{ name: "site", means: "The partner's website, such as bergblog.example.", isOptional: true },
		{ name: "email", means: "The person who signs in for the partner." },
		{
			...PROGRAMME_COLUMN,
			means: `${PROGRAMME_COLUMN.means} One line for each programme. Left empty, the partner is in no programme yet.`,
		},
		{
			name: "rate",
			means:
				"The partner's commission in percent, such as 8 or 7,5. A fixed amount may follow, as in 8+1.00. It takes the place of the programme's general commission. Left out, that one applies.",
			isOptional: true,
		},
		{
			name: "event_rates",
			means:
				"Other commissions of the partner for some event types, separated by semicolons, such as “LEAD: 5.00 EUR; RENEWAL: 4 %”. Event types that are left out have the programme's commission for them, if it has one.",
			isOptional: true,
			maxCharacters: MAX_BY_TYPE_LENGTH + 1,
		},
	],
	example: `partner;site;email;programme;rate;event_rates
Bergblog;bergblog.example;anna@bergblog.example;Garden Shop;8;"LEAD: 5,00 EUR; RENEWAL: 4 %"
Bergblog;bergblog.example;anna@bergblog.example;Book Club;;
Deal Finder;https://deals.example/;team@deals.example;Garden Shop;5+1,00;`,
	advice:
		"Imported partners can be renamed, and their partnerships ended, on their pages. They get the present terms of each programme.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: true,
	invitesLater: "When you are ready, send each partner its link from its page under Partners.",
	sayRemarks: sayUninvited,
	keyOf: (cells) => [cellOf(cells, "partner"), cellOf(cells, "programme")].join("\n"),
	shared: {
		noun: "partner",
		keyOf: (cells) => cellOf(cells, "partner") || null,
		saysOf: (cells) => foldMailAddress(cellOf(cells, "email")),
	},
	judge: (db, _, rows) => inOrder(rows, async (row) => (await judgeLine(db, row)).verdict),
	apply: (trx, deps, rows) => inOrder(rows, (row) => applyLine(trx, deps, row)),
};

interface MeantPartner extends PartnerInput {
	/** The programme, or null if the line names none. */
	programme: Programme | null;
	/** The partner's own commission, or null for the programme's. */
	rate: Rate | null;
	/** The partner's own commissions for single event types. */
	byType: PartnershipRates["byType"];
}

interface Plan {
	meant: MeantPartner;
	/** The stored partner, or null if the import creates the partner. */
	partner: Partner | null;
	/** True if nobody signs in for the partner yet. */
	needsPerson: boolean;
	/** True if the partner must be added to the programme. */
	joins: boolean;
}

type JudgedLine = { verdict: RowVerdict; plan: Plan | null };

async function judgeLine(db: Db, { cells }: JobRow): Promise<JudgedLine> {
	const settle = (verdict: RowVerdict): JudgedLine => ({ verdict, plan: null });
	const read = await readLine(db, cells);
	if (!read.ok) return settle(refuseLine(read));
	const meant = read.value;
	const person = await findPersonByEmail(db, meant.email);
	if (person?.kind === "staff") {
		const detail = `${meant.email} is one of the network's staff, who cannot sign in for a partner. Use another address.`;
		return settle(needsFixing(detail));
	}
	const found = await findNamesake(db, meant);
	if (!found.ok) return settle(needsFixing(plainWords(found.fault)));
	const partner = found.value;
	const emails = partner === null ? [] : await listPartnerEmails(db, partner.id);
	const partnership = await findPartnership(db, partner, meant.programme);
	if (partnership !== null && partnership.ended_at_ms !== null) {
		return settle(needsFixing(sayEnded(partnership)));
	}
	const same = compareWith(
		"This partner",
		partner === null ? [] : compare(partner, emails, partnership, meant),
	);
	if (same.kind === "refused") return settle(same);
	const joins = meant.programme !== null && partnership === null;
	if (joins && meant.programme?.credits_partners === 0) {
		return settle(needsFixing(sayNotCrediting(meant.programme)));
	}
	const needsPerson = emails.length === 0;
	const changes = joins || needsPerson;
	return { verdict: changes ? willChange(null) : same, plan: { meant, partner, needsPerson, joins } };
}

function sayNotCrediting({ name }: Programme): string {
	return `“${name}” does not credit partners yet. Turn that on under its Partners first, then import the line again.`;
}

async function readLine(db: Db, cells: Cells): Promise<Checked<MeantPartner>> {
	const input = readPartner({
		name: cellOf(cells, "partner"),
		site: cellOf(cells, "site"),
		email: cellOf(cells, "email"),
	});
	const read = checkAll({ input, agreement: await readAgreement(db, cells) });
	return read.ok ? succeed({ ...read.value.input, ...read.value.agreement }) : read;
}

async function readAgreement(
	db: Db,
	cells: Cells,
): Promise<ReadLine<Pick<MeantPartner, "programme" | "rate" | "byType">>> {
	const named = cellOf(cells, "programme");
	const rateText = cellOf(cells, "rate");
	const byTypeText = cellOf(cells, "event_rates");
	if (named === "") {
		if (rateText + byTypeText === "") return succeed({ programme: null, rate: null, byType: {} });
		return refuse("invalid_rate", "A rate needs a programme. Write the programme, or leave the rate empty.");
	}
	const programme = (await findNamedProgrammes(db, [named]))(named);
	if (!programme.ok) return programme;
	const { currency } = programme.value;
	return checkAll({
		programme,
		rate: rateText === "" ? succeed(null) : readWrittenRate(rateText, currency, "rate"),
		byType: parseCommissionsByType(byTypeText, currency, "event_rates"),
	});
}

/**
 * Finds the partner that a line is about. If several have its name, the one with the same site or person is meant.
 * Resolves to null if no partner has the name.
 */
async function findNamesake(db: Db, { name, site, email }: MeantPartner): Promise<Result<Partner | null>> {
	const [partner, ...others] = await findPartnersByName(db, [name]);
	if (partner === undefined) return succeed(null);
	if (others.length === 0) return succeed(partner);
	const matches: Partner[] = [];
	for (const namesake of [partner, ...others]) {
		const isSameSite = site !== "" && namesake.site === site;
		if (isSameSite || (await listPartnerEmails(db, namesake.id)).includes(email)) matches.push(namesake);
	}
	const [match, ...more] = matches;
	if (match !== undefined && more.length === 0) return succeed(match);
	const detail = `Several partners are called “${name}” here, and the line does not say which one is meant. Write its site and e-mail as they are here, or rename the others first.`;
	return refuse("unknown_partner", detail, "partner");
}

async function findPartnership(
	db: Db,
	partner: Partner | null,
	programme: Programme | null,
): Promise<NamedPartnership | null> {
	if (partner === null || programme === null) return null;
	const [partnership] = await findPartnershipsBetween(db, [programme.id], [partner.id]);
	return partnership ?? null;
}

function compare(
	partner: Partner,
	emails: readonly string[],
	partnership: NamedPartnership | null,
	{ site, email, rate, byType }: MeantPartner,
): string[] {
	const isOtherPerson = emails.length > 0 && !emails.includes(email);
	const differences = [
		...differ("site", partner.site || "none", site, site !== ""),
		...differ("email", emails.join(" and "), email, isOtherPerson),
	];
	if (partnership === null) return differences;
	const { programme_currency: currency } = partnership;
	const here = commissionsOf(partnership, currency);
	const say = (commission: Rate | null) =>
		commission === null ? "the programme's" : sayRate(commission, currency);
	const sayAll = (rates: MeantPartner["byType"]) => sayByType(rates, say).replaceAll("\n", "; ") || "none";
	return [
		...differences,
		...differ("rate", say(here.commission), say(rate), rate !== null),
		...differ("event_rates", sayAll(here.byType), sayAll(byType), Object.keys(byType).length > 0),
	];
}

async function applyLine(trx: Db, deps: ApplyDeps, row: JobRow): Promise<RowVerdict> {
	const { verdict, plan } = await judgeLine(trx, row);
	if (verdict.kind !== "change" || plan === null) return verdict;
	const { meant, needsPerson, joins } = plan;
	// Everything that may be refused is checked before the first write. All lines of a batch share one transaction, and it is
	// committed even if some lines are refused.
	const programme = meant.programme === null ? undefined : await lockProgramme(trx, meant.programme.id);
	if (joins && programme?.credits_partners !== 1) {
		return needsFixing(
			meant.programme === null ? "The programme is missing." : sayNotCrediting(meant.programme),
		);
	}
	if (joins && programme !== undefined) {
		const judged = judgeArchived(programme, plan.partner);
		if (!judged.ok) return needsFixing(plainWords(judged.fault));
	}
	const invitee = needsPerson ? await findOrCreateInvitee(trx, deps, meant.email, "shop") : null;
	if (invitee?.ok === false) return needsFixing(plainWords(invitee.fault));
	const { personId } = deps;
	const actor: AuditedActor = personId === null ? COMMAND_LINE : { personId, kind: "staff" };
	const partner = plan.partner ?? (await addPartner(trx, deps, actor, meant));
	if (joins && programme !== undefined) {
		const agreed = {
			commission_rate: meant.rate === null ? null : storedRate(meant.rate),
			event_rates: writeByType(meant.byType, writeRate),
		};
		const joined = await joinProgramme(trx, deps, actor, programme, partner, agreed, "partnership.imported");
		if (!joined.ok) return needsFixing(plainWords(joined.fault));
	}
	const remark = invitee === null ? null : await addPerson(trx, deps, actor, partner, invitee.value);
	return willChange(null, remark);
}

async function addPartner(
	trx: Db,
	deps: ApplyDeps,
	actor: AuditedActor,
	{ name, site, email }: MeantPartner,
): Promise<Partner> {
	const created_at_ms = deps.clock.nowMs();
	const public_id = makeId("ptn", created_at_ms, deps.random.bytes(ID_RANDOM_BYTES));
	const partner = await insertPartner(trx, { public_id, name, site, created_at_ms });
	await note(trx, deps, actor, "partner.imported", public_id, `${name}; ${email}`);
	return partner;
}

/** Lets the person sign in for the partner. Resolves to the reason why they get no mail, or to null. */
async function addPerson(
	trx: Db,
	deps: ApplyDeps,
	actor: AuditedActor,
	partner: Partner,
	person: Locked<Person>,
): Promise<string | null> {
	const { inviting } = deps;
	const whyNot = inviting === null ? null : await whyUninvited(trx, deps, person, "partner");
	if (inviting === null || whyNot !== null) {
		await addPartnerPerson(trx, partner.id, person.id);
		return whyNot;
	}
	await admit(trx, { ...deps, ...inviting }, person, await placeOf(trx, partner), actor);
	return null;
}
