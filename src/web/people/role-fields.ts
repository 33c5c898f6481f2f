// What somebody is in a programme, chosen: in the invitation, and in their row of the list.

import { html } from "hono/html";
import { PROGRAMME_ROLES, type ProgrammeRole, ROLE_SUMMARIES } from "../../domain/roles.ts";
import type { ListedPerson } from "../../store/people-list.ts";
import { button, postForm, selectField } from "../components/forms.ts";
import { attrs, type Html } from "../html.ts";

const ROLE_WORDS: Readonly<Record<ProgrammeRole, string>> = {
	owner: "Owner",
	developer: "Developer",
	viewer: "Viewer",
};

export function roleField(value: string, error: string | undefined): Html {
	return selectField({
		name: "role",
		label: "Role",
		value,
		error,
		isRequired: true,
		options: [
			{ value: "", label: "Choose a role" },
			...PROGRAMME_ROLES.map((role) => ({
				value: role,
				label: `${ROLE_WORDS[role]}: ${ROLE_SUMMARIES[role]}`,
			})),
		],
	});
}

/** Chosen where it can be changed; the last owner stays one. */
export function roleCell(
	path: string,
	csrf: Html,
	{ role, email, publicId }: ListedPerson,
	mayChange: boolean,
): Html | string {
	if (role === null) return "";
	if (!mayChange) return ROLE_WORDS[role];
	const options = PROGRAMME_ROLES.map(
		(value) => html`<option${attrs({ value, selected: value === role })}>${ROLE_WORDS[value]}</option>`,
	);
	return postForm({
		action: `${path}/${publicId}/role`,
		csrf,
		className: "row choice",
		body: html`<select name="role" aria-label="Role of ${email}">${options}</select>${button({
			label: "Change",
			isSmall: true,
			ariaLabel: `Change the role of ${email}`,
		})}`,
	});
}
