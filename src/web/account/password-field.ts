// Where a form of the account asks for the present password.

import { textField } from "../components/forms.ts";
import type { Html } from "../html.ts";

export function currentPasswordField(id: string, error: string | undefined): Html {
	return textField({
		id,
		name: "currentPassword",
		label: "Current password",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
		error,
	});
}
