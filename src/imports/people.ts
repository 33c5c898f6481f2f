// People of another software's programmes. They get an account and their role, and a mail only where it was asked for;
// otherwise staff send the link from the People page when the shop is ready.

import { findOrMakeInvitee, welcomePerson } from "../accounts/invitations.ts";
import { type Membership, transactAs } from "../accounts/links.ts";
import { parseEmail, parsePersonName, parseRole } from "../accounts/people.ts";
import { plainWords, type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { hasOpenInvitation, removeProgrammeInvitation } from "../store/links.ts";
import { findPersonByEmail, type Person, renamePerson } from "../store/people.ts";
import { addToProgramme, findRole } from "../store/programme-people.ts";
import { hasPassword } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import {
	bring,
	type Cells,
	cellOf,
	findTheSame,
	type ImportDeps,
	type ImportKind,
	type ImportRow,
	needsFixing,
	type RowVerdict,
} from "./import-kind.ts";
import { findNamedProgrammes } from "./named-programmes.ts";
import { inOrder } from "./programmes.ts";

export const PEOPLE_IMPORT: ImportKind = {
	name: "people",
	noun: ["person", "people"],
	columns: [{ name: "email" }, { name: "name", isOptional: true }, { name: "programme" }, { name: "role" }],
	keyOf: (cells) => [cellOf(cells, "email").toLowerCase(), cellOf(cells, "programme")].join("\n"),
	judge: (db, rows) => inOrder(rows, async (row) => (await judgePerson(db, row)).verdict),
	apply: (deps, rows) => inOrder(rows, (row) => applyPerson(deps, row)),
};

interface Meant {
	email: string;
	/** Empty where the line has none. */
	name: string;
	membership: Membership;
}

type Judged = { verdict: RowVerdict; meant: Meant | null };

async function judgePerson(db: Db, { cells }: ImportRow): Promise<Judged> {
	const read = await readPerson(db, cells);
	if (!read.ok) return { verdict: needsFixing(plainWords(read.fault)), meant: null };
	const { email, membership } = read.value;
	const person = await findPersonByEmail(db, email);
	if (person === undefined) return { verdict: bring(), meant: read.value };
	return { verdict: await compare(db, person, membership), meant: read.value };
}

async function compare(db: Db, person: Person, { programme, role }: Membership): Promise<RowVerdict> {
	if (person.kind === "staff") {
		return needsFixing(`${person.email} is one of the network's staff, who see every programme already.`);
	}
	const present = await findRole(db, programme.id, person.id);
	if (present === undefined) return bring();
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

async function applyPerson(deps: ImportDeps, row: ImportRow): Promise<RowVerdict> {
	const done = await transactAs(deps.store, null, async (trx): Promise<Result<RowVerdict>> => {
		const { verdict, meant } = await judgePerson(trx, row);
		if (verdict.kind !== "import" || meant === null) return succeed(verdict);
		const { email, name, membership } = meant;
		const found = await findOrMakeInvitee(trx, deps, email, "shop");
		if (!found.ok) return found;
		const person = found.value;
		// Whoever has an account has said themselves what they are called.
		if (name !== "" && person.name === "") await renamePerson(trx, person.id, name);
		if (deps.inviting !== null && !(await waitsWithLink(trx, deps, person))) {
			await welcomePerson(trx, { ...deps, ...deps.inviting }, person, membership, null);
		} else {
			await addSilently(trx, deps, person, membership);
		}
		return succeed(bring());
	});
	deps.inviting?.mails.wake();
	return done.ok ? done.value : needsFixing(plainWords(done.fault));
}

/** Invited a line before: a second link would end the first. */
async function waitsWithLink(trx: Db, { clock }: ImportDeps, { id, public_id }: Person): Promise<boolean> {
	return !(await hasPassword(trx, public_id)) && hasOpenInvitation(trx, id, clock.nowMs());
}

async function addSilently(
	trx: Db,
	{ clock, personId }: ImportDeps,
	person: Person,
	{ programme, role }: Membership,
): Promise<void> {
	await addToProgramme(trx, programme.id, person.id, role);
	await removeProgrammeInvitation(trx, programme.id, person.email);
	const note = { personId, programmeId: programme.id, action: "person.imported" } as const;
	await noteAudit(trx, { ...note, subject: person.email, detail: role }, clock.nowMs());
}
