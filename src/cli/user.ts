// `ringback user create` and `ringback user link`: a person, and the one-time link with which they choose their
// password.

import { type Result, succeed } from "../domain/fault.ts";
import { renewLink, sayOpensOnlyHere } from "../people/invitations.ts";
import { createPerson, requirePersonByEmail } from "../people/people.ts";
import type { Workplace } from "../service/workplace.ts";
import type { Person } from "../store/queries/people.ts";
import { type Answer, workplaceCommand } from "./command.ts";

const EMAIL_OPTION = {
	type: "string",
	value: "ADDRESS",
	help: "the person's e-mail address",
	isRequired: true,
} as const;

export const userCreateCommand = workplaceCommand({
	name: "user create",
	summary:
		"Creates a person: of a shop, or of the network's staff. Prints the link with which they choose their password.",
	options: {
		email: EMAIL_OPTION,
		kind: { type: "string", value: "shop|staff", help: "where the person belongs", isRequired: true },
	},
	async work(workplace, options) {
		const made = await createPerson(workplace, { email: options.text("email"), kind: options.text("kind") });
		if (!made.ok) return made;
		const { kind, email, public_id } = made.value;
		const what = kind === "staff" ? "staff" : "shop person";
		return giveLink(workplace, made.value, [`Made ${what} ${email} (${public_id}).`]);
	},
});

export const userLinkCommand = workplaceCommand({
	name: "user link",
	summary:
		"Prints a new link with which a person chooses a password, for those who lost theirs. Earlier links of this kind stop working; using it ends their sessions and every other link.",
	options: { email: EMAIL_OPTION },
	async work(workplace, options) {
		const found = await requirePersonByEmail(workplace, options.text("email"));
		return found.ok ? giveLink(workplace, found.value, []) : found;
	},
});

async function giveLink(
	workplace: Workplace,
	person: Person,
	lines: readonly string[],
): Promise<Result<Answer>> {
	const made = await renewLink(workplace, null, person, null);
	if (!made.ok) return made;
	const { link, isMailed, isForPassword } = made.value;
	const about = isForPassword
		? `The link to choose a new password, good once and for 24 hours. Hand it over yourself.${isMailed ? " A mail tells them that it was created." : ""}`
		: `The link to choose a password, good once and for seven days.${isMailed ? " It is being mailed, too." : ""}`;
	const { public_id: id, email, kind } = person;
	return succeed({
		json: { id, email, kind, link, isMailed },
		text: [...lines, about, link ?? "", sayOpensOnlyHere(link ?? "") ?? ""].join("\n").trimEnd(),
	});
}
