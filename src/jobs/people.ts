// People of another software's programmes. They get an account and their role, and a mail only where it was asked for;
// otherwise staff send the link from the People page when the shop is ready.

import { plainWords, type Result, refuse, succeed } from "../domain/fault.ts";
import { findOrMakeInvitee, welcomePerson } from "../people/invitations.ts";
import { LIMITS, useLimits } from "../people/limits.ts";
import type { Membership } from "../people/links.ts";
import { parseEmail, parsePersonName, parseRole } from "../people/people.ts";
import { type AuditNote, noteAudits } from "../store/queries/audit.ts";
import { hasOpenInvitation, removeProgrammeInvitation } from "../store/queries/links.ts";
import { findPersonByEmail, type Person, renamePerson } from "../store/queries/people.ts";
import { addToProgramme, findRole } from "../store/queries/programme-people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { hasPassword } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import {
	type ApplyDeps,
	bring,
	type Cells,
	cellOf,
	findNamedProgrammes,
	findTheSame,
	IMPORT_WORDS,
	inOrder,
	type JobKind,
	type JobRow,
	MAX_IMPORTED_ROWS,
	needsFixing,
	type RowVerdict,
} from "./kind.ts";

export const PEOPLE_IMPORT: JobKind = {
	name: "people",
	noun: ["person", "people"],
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
	// Several statements each, and everybody who makes a link waits meanwhile.
	batchRows: 50,
	makesPeople: true,
	keyOf: (cells) => [cellOf(cells, "email").toLowerCase(), cellOf(cells, "programme")].join("\n"),
	judge: (db, _, rows) => inOrder(rows, async (row) => (await judgePerson(db, row)).verdict),
	async apply(trx, deps, rows) {
		const added: AuditNote[] = [];
		const verdicts = await inOrder(rows, (row) => applyPerson(trx, deps, row, added));
		await noteAudits(trx, added, deps.clock.nowMs());
		return verdicts;
	},
};

interface Meant {
	email: string;
	/** Empty where the line has none. */
	name: string;
	membership: Membership & { programme: Programme };
}

type Judged = { verdict: RowVerdict; meant: Meant | null };

async function judgePerson(db: Db, { cells }: JobRow): Promise<Judged> {
	const read = await readPerson(db, cells);
	if (!read.ok) return { verdict: needsFixing(plainWords(read.fault)), meant: null };
	const { email, membership } = read.value;
	const person = await findPersonByEmail(db, email);
	const known = person === undefined ? null : await compare(db, person, membership);
	return { verdict: known ?? bring(null), meant: read.value };
}

/** Null for somebody who is not in the programme yet. */
async function compare(db: Db, person: Person, { programme, role }: Membership): Promise<RowVerdict | null> {
	if (person.kind === "staff") {
		return needsFixing(`${person.email} is one of the network's staff, who see every programme already.`);
	}
	const present = await findRole(db, programme.id, person.id);
	if (present === undefined) return null;
	if (present === role) return findTheSame();
	return needsFixing(
		`${person.email} is here already, and differs: role ${present} here, ${role} in the file. Change it on the People page, or correct the line.`,
	);
}

async function readPerson(db: Db, cells: Cells): Promise<Result<Meant>> {
	const email = parseEmail(cellOf(cells, "email"));
	if (!email.ok) return email;
	const name = cellOf(cells, "name");
	if (name !== "" && !parsePersonName(name).ok) {
		return refuse("invalid_name", "The name is too long, or has characters that cannot be seen.", "name");
	}
	const role = parseRole(cellOf(cells, "role").toLowerCase());
	if (!role.ok) return refuse("unknown_role", "The role must be owner, developer or viewer.", "role");
	const named = cellOf(cells, "programme");
	const programme = (await findNamedProgrammes(db, [named]))(named);
	if (!programme.ok) return programme;
	return succeed({ email: email.value, name, membership: { programme: programme.value, role: role.value } });
}

/** `added`: with whoever is added and not invited, for the audit log. */
async function applyPerson(trx: Db, deps: ApplyDeps, row: JobRow, added: AuditNote[]): Promise<RowVerdict> {
	const { verdict, meant } = await judgePerson(trx, row);
	if (verdict.kind !== "change" || meant === null) return verdict;
	const { email, name, membership } = meant;
	const found = await findOrMakeInvitee(trx, deps, email, "shop");
	if (!found.ok) return needsFixing(plainWords(found.fault));
	const person = found.value;
	// Whoever has an account has said themselves what they are called.
	if (name !== "" && person.name === "") await renamePerson(trx, person.id, name);
	if (deps.inviting === null) {
		added.push(await addSilently(trx, deps, person, membership));
		return verdict;
	}
	const whyNot = await whyUninvited(trx, deps, person);
	if (whyNot !== null) {
		added.push(await addSilently(trx, deps, person, membership));
		return bring(null, whyNot);
	}
	const maker = deps.personId === null ? null : ({ personId: deps.personId, kind: "staff" } as const);
	await welcomePerson(trx, { ...deps, ...deps.inviting }, person, membership, maker);
	return verdict;
}

/** On a page there is an end to how many are mailed within an hour; whoever has a shell knows what they do. */
async function whyUninvited(trx: Db, deps: ApplyDeps, person: Person): Promise<string | null> {
	if (await waitsWithLink(trx, deps, person)) {
		return "Added without a mail: they have an open invitation, which leads to this programme too.";
	}
	const { personId, clock } = deps;
	if (personId === null) return null;
	const use = { limit: LIMITS.importedInvitations, subject: String(personId) };
	const tooMany = await useLimits(trx, [use], clock.nowMs());
	return tooMany === null ? null : `Added without a mail: ${tooMany.fault.detail}`;
}

/** Invited a line before: a second link would end the first. */
async function waitsWithLink(trx: Db, { clock }: ApplyDeps, { id, public_id }: Person): Promise<boolean> {
	return !(await hasPassword(trx, public_id)) && hasOpenInvitation(trx, id, clock.nowMs());
}

async function addSilently(
	trx: Db,
	{ personId }: ApplyDeps,
	{ id, email }: Person,
	{ programme, role }: Membership,
): Promise<AuditNote> {
	await addToProgramme(trx, programme.id, id, role);
	await removeProgrammeInvitation(trx, programme.id, email);
	return { personId, programmeId: programme.id, action: "person.imported", subject: email, detail: role };
}
