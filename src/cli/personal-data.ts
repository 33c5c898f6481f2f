// Commands about personal data: `ringback person export` and `ringback partner export` write what is stored, and
// `ringback person erase` and `ringback partner erase` remove what the law lets go. Without --yes, erasing shows only what
// it would do.

import { foldMailAddress, isMailAddress } from "#core/domain/display-name.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { isPartnerId } from "#core/domain/id.ts";
import { utcMinute } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { createPerson } from "#core/people/people.ts";
import { findPartner } from "#core/store/queries/partners.ts";
import { findPersonByEmail, findPersonByPublicId, type Person } from "#core/store/queries/people.ts";
import { type Erasure, findErasure } from "#modules/personal-data/store/erasures.ts";
import { erasePartner, previewPartner } from "#modules/personal-data/use-cases/erase-partner.ts";
import {
	erasePerson,
	type PersonPreview,
	previewPerson,
} from "#modules/personal-data/use-cases/erase-person.ts";
import { finishRound } from "#modules/personal-data/use-cases/erasure-work.ts";
import { exportPartner } from "#modules/personal-data/use-cases/export-partner.ts";
import { type Export, exportPerson } from "#modules/personal-data/use-cases/export-person.ts";
import { writePrivateFile } from "../service/private-file.ts";
import type { Workplace } from "../service/workplace.ts";
import { type Answer, type Screen, workplaceCommand } from "./command.ts";
import { tellOn } from "./passphrase.ts";

const TO_OPTION = {
	type: "string",
	value: "FILE",
	help: "the file to write; a name with the ID and the day, in this folder, if left out",
} as const;
const YES_OPTION = {
	type: "boolean",
	help: "erase; without it, only what would be erased is shown, and the exit code is 1",
} as const;
const PERSON_ARGUMENT = { value: "EMAIL|ID", help: "the person's e-mail address, or ID (usr_…)" };
const PARTNER_ARGUMENT = {
	value: "ID",
	help: "the partner's ID (ptn_…), which its page under Partners shows",
};

const NO_WAY_BACK =
	"This cannot be undone. `ringback guide personal-data` says what is erased, what stays and why.";

export const personExportCommand = workplaceCommand({
	name: "person export",
	summary: "Writes everything that is stored about a person into a JSON file, for a request for access.",
	argument: PERSON_ARGUMENT,
	options: { to: TO_OPTION },
	notes: ["Hand the file over in a way that only this person can read. The export is in the audit log."],
	async work(workplace, options, screen) {
		const found = await findPerson(workplace, options.argument);
		if (!found.ok) return found;
		return write(
			await exportPerson(workplace, COMMAND_LINE, found.value.public_id),
			options.text("to"),
			screen,
		);
	},
});

export const partnerExportCommand = workplaceCommand({
	name: "partner export",
	summary:
		"Writes everything that is stored about a partner into a JSON file: people, payment details, links, clicks by the day, sales, account, statements and callbacks.",
	argument: PARTNER_ARGUMENT,
	options: { to: TO_OPTION },
	notes: ["Hand the file over in a way that only the partner can read. The export is in the audit log."],
	async work(workplace, options, screen) {
		return write(await exportPartner(workplace, COMMAND_LINE, options.argument), options.text("to"), screen);
	},
});

export const personEraseCommand = workplaceCommand({
	name: "person erase",
	summary:
		"Erases a person: ends their access, and removes name, addresses, sessions and mails. Shows what would be erased, and erases it with --yes.",
	argument: PERSON_ARGUMENT,
	options: {
		"keep-keys": {
			type: "boolean",
			help: "API keys that the person issued stay valid, for a shop whose server still uses them",
		},
		name: {
			type: "string",
			value: "NAME",
			help: "another name to look for, such as the one in an application that was declined",
		},
		yes: YES_OPTION,
	},
	notes: [
		NO_WAY_BACK,
		"An address without an account is erased, too. It may be in invitations, applications and the audit log.",
	],
	async work(workplace, options) {
		const { store, clock } = workplace;
		const known = await findPerson(workplace, options.argument);
		const email = foldMailAddress(options.argument);
		if (!known.ok && !isMailAddress(email)) return known;
		const unfinished = known.ok ? await continueErasure(workplace, known.value.public_id) : null;
		if (unfinished !== null) return unfinished;
		const preview = known.ok ? await previewPerson(store.db, known.value, clock.nowMs()) : null;
		if (preview?.judged.ok === false) return preview.judged;
		const keys = preview?.ending.keys ?? [];
		const keepsKeys = options.flag("keep-keys");
		const lines =
			preview === null || !known.ok
				? [
						`No account has the address ${email}. Invitations, applications, mails and entries of the audit log with it are erased.`,
					]
				: describePerson(known.value, preview, keepsKeys);
		if (!options.flag("yes")) return show(lines);
		const person = known.ok ? known : await createPerson(workplace, { email, kind: "shop" });
		if (!person.ok) return person;
		const kept = keepsKeys ? keys.map(({ public_id }) => public_id) : [];
		const name = options.text("name").trim();
		const names = name === "" ? [] : [name];
		const erased = await erasePerson(workplace, COMMAND_LINE, person.value.public_id, kept, names);
		return erased.ok ? finish(workplace, [erased.value]) : erased;
	},
});

export const partnerEraseCommand = workplaceCommand({
	name: "partner erase",
	summary:
		"Erases a partner, with the people who sign in for nothing else: ends its partnerships, links, codes, tokens and callbacks, and removes names, addresses and texts. Amounts and issued statements stay. Shows what would be erased, and erases it with --yes.",
	argument: PARTNER_ARGUMENT,
	options: { yes: YES_OPTION },
	notes: [NO_WAY_BACK],
	async work(workplace, options) {
		const { store } = workplace;
		const partner = await findPartner(store.db, options.argument);
		if (partner === undefined) return refuse("unknown_partner", `There is no partner ${options.argument}.`);
		const unfinished = await continueErasure(workplace, partner.public_id);
		if (unfinished !== null) return unfinished;
		const { judged, erasedPeople, keptPeople } = await previewPartner(store.db, partner);
		if (!judged.ok) return judged;
		const years = workplace.config.statementYears;
		const lines = [
			`${partner.name} would be erased:`,
			"  its partnerships, clicks, links, coupon codes, API tokens and callbacks end",
			...erasedPeople.map(({ email }) => `  ${email} signs in for nothing else and would be erased, too`),
			...keptPeople.map(({ email }) => `  ${email} no longer signs in for it, and keeps the account`),
			"  name, site, payment details, texts and sub IDs are removed",
			`  amounts, IDs and dates stay. Issued statements keep both parties for ${count(years, "year")} after the year of their issue`,
		];
		if (!options.flag("yes")) return show(lines);
		const erased = await erasePartner(workplace, COMMAND_LINE, partner.public_id);
		return erased.ok ? finish(workplace, [erased.value.erasure, ...erased.value.people]) : erased;
	},
});

function describePerson({ email }: Person, preview: PersonPreview, keepsKeys: boolean): string[] {
	const { roles, partners, ending } = preview;
	const { sessions, links, tokens, keys } = ending;
	const ends = [
		...(sessions === 0 ? [] : [count(sessions, "session")]),
		...(links === 0 ? [] : [count(links, "link")]),
		...(tokens.length === 0 ? [] : [count(tokens.length, "API token")]),
	];
	const isOne = sessions + links + tokens.length === 1;
	const keysEnd = keepsKeys ? "stay valid" : "are revoked; --keep-keys leaves them valid";
	return [
		`${email} would be erased:`,
		...(ends.length === 0
			? []
			: [`  ${new Intl.ListFormat("en-GB").format(ends)} ${isOne ? "ends" : "end"}`]),
		...(keys.length === 0 ? [] : [`  API keys that the person issued (${keys.length}) ${keysEnd}`]),
		...roles.map(({ name, role }) => `  no longer ${role} of the programme ${name}`),
		...partners.map(
			({ name, publicId, isAlone }) =>
				`  no longer signs in for the partner ${name} (${publicId})${isAlone ? ", for which nobody signs in then" : ""}`,
		),
		"  name and addresses are removed from the account, mails, notices and the audit log",
	];
}

async function findPerson({ store }: Workplace, text: string): Promise<Result<Person>> {
	const person = text.includes("@")
		? await findPersonByEmail(store.db, foldMailAddress(text))
		: await findPersonByPublicId(store.db, text);
	if (person !== undefined) return succeed(person);
	return refuse("unknown_person", `There is no account ${text}. Check the spelling.`);
}

/** Writes the export to a new file that only its owner may read. An existing file is never overwritten. */
async function write(exported: Result<Export>, to: string, screen: Screen): Promise<Result<Answer>> {
	if (!exported.ok) return exported;
	const { fileName, parts } = exported.value;
	const path = to === "" ? fileName : to;
	const written = await writePrivateFile(path, parts, tellOn(screen));
	if (!written.ok) return written;
	return succeed({ json: { file: path }, text: `Everything is in ${path}, which only you can read.` });
}

/** Returns the command line that erases this person or partner, or continues the erasure. */
export function commandToErase(publicId: string): string {
	return `ringback ${isPartnerId(publicId) ? "partner" : "person"} erase ${publicId} --yes`;
}

async function continueErasure(workplace: Workplace, publicId: string): Promise<Result<Answer> | null> {
	const erasure = await findErasure(workplace.store.db, publicId);
	const isDue = (erasure?.due_at_ms ?? Number.POSITIVE_INFINITY) <= workplace.clock.nowMs();
	return erasure !== undefined && isDue ? finish(workplace, [erasure]) : null;
}

async function finish(workplace: Workplace, erasures: readonly Erasure[]): Promise<Result<Answer>> {
	for (const erasure of erasures) await finishRound(workplace, erasure, () => false);
	const ids = erasures.map(({ public_id }) => public_id);
	const present = await Promise.all(ids.map((id) => findErasure(workplace.store.db, id)));
	const open = present.flatMap((erasure) => erasure?.due_at_ms ?? []);
	const isFinished = open.length === 0;
	const commands = new Intl.ListFormat("en-GB").format(ids.map((id) => `\`${commandToErase(id)}\``));
	const later = `The service searches for the names once more after ${utcMinute(Math.max(...open, 0))}, because a process may still store what it began before the erasure. If no service runs, run ${commands} then.`;
	return succeed({
		json: { erased: ids, isFinished },
		text: [
			`Erased: ${ids.join(", ")}`,
			isFinished ? "Nothing is left to do." : later,
			"Keep these IDs. After a restore of an older backup, erase them again.",
		].join("\n"),
	});
}

function show(lines: readonly string[]): Result<Answer> {
	const next = "Nothing was erased yet: run it again with --yes.";
	return succeed({
		json: { applied: false, preview: lines },
		text: [...lines, next].join("\n"),
		isIncomplete: true,
	});
}

function count(number: number, noun: string): string {
	return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
