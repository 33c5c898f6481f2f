// The fields in which staff say what their network is called, looks like and writes from: the same on its page and in the
// set-up.

import { html } from "hono/html";
import type { NetworkField } from "../../accounts/network.ts";
import { MAX_NAME_LENGTH } from "../../domain/display-name.ts";
import { isBrand, MAX_BRAND_LENGTH } from "../../domain/network.ts";
import { headerNames } from "../../domain/signature.ts";
import type { NetworkFace } from "../../store/known-network.ts";
import { message } from "../components/blocks.ts";
import { type TextField, textField } from "../components/forms.ts";
import type { Content, Html } from "../html.ts";
import type { FieldErrors } from "../programmes/terms-form.ts";

/** What each field holds: typed a moment ago, or as it is stored. */
export type NetworkForm = Readonly<Record<NetworkField, string>>;

export const NETWORK_FIELDS = [
	"name",
	"brand",
	"colour",
	"supportAddress",
	"senderName",
	"senderAddress",
] as const satisfies NetworkField[];

export function formOf(face: NetworkFace): NetworkForm {
	return {
		name: face.name ?? "",
		brand: face.isBrandChosen ? face.brand : "",
		colour: face.colour ?? "",
		supportAddress: face.supportAddress ?? "",
		senderName: face.senderName ?? "",
		senderAddress: face.senderAddress ?? "",
	};
}

type Look = Omit<TextField, "name" | "value" | "error">;

const LOOKS: Readonly<Record<NetworkField, Look>> = {
	name: {
		label: "Network name",
		hint: "On every page and in every mail.",
		autocomplete: "organization",
		maxLength: MAX_NAME_LENGTH,
		isRequired: true,
	},
	brand: { label: "Brand in header names (optional)", isMono: true, maxLength: MAX_BRAND_LENGTH },
	colour: {
		label: "Colour",
		hint: "Six hex digits, such as #3b4fd8. Where it would be hard to read, it is made darker or lighter. Empty: Ringback's own.",
		isMono: true,
		maxLength: 7,
	},
	supportAddress: {
		label: "Support address",
		hint: "Shown below every page and mail. Replies to mails go there.",
		type: "email",
	},
	senderName: { label: "Sender's name", hint: "Empty: the network's name.", maxLength: MAX_NAME_LENGTH },
	senderAddress: {
		label: "Sender's address",
		hint: "Empty: the address of MAIL_FROM. Your mail server must allow it: send a test mail.",
		type: "email",
	},
};

export function networkFields(
	names: readonly NetworkField[],
	form: NetworkForm,
	errors: FieldErrors,
): readonly Html[] {
	return names.map((name) => {
		const error = errors.get(name);
		const field: TextField = { name, value: form[name], error, ...LOOKS[name] };
		return textField(name === "brand" ? { ...field, hint: brandHint(form.brand) } : field);
	});
}

const EXAMPLE_BRAND = "Acme";

function brandHint(brand: string): Content {
	const shown = headerNames(isBrand(brand) ? brand : EXAMPLE_BRAND).signature;
	return html`As in <code>${shown}</code>. Empty: made from the name.`;
}

/** While it can be chosen: that it stays. Afterwards: why it cannot. */
export function brandNote({ brand, brandState }: Pick<NetworkFace, "brand" | "brandState">): Html {
	const name = html`<code>${headerNames(brand).signature}</code>`;
	switch (brandState) {
		case "open":
			return message(
				"warn",
				html`<strong>The brand is permanent</strong> once the first API key is issued, and a sample programme comes with one: shops rely on the header names.`,
			);
		case "given":
			return html`<p class="small soft">Headers are named ${name}: the brand is given by <code>RINGBACK_BRAND</code>.</p>`;
		case "fixed":
			return html`<p class="small soft">Headers are named ${name}. The brand cannot be changed any more: a programme has an API key, and shops rely on the header names.</p>`;
		default:
			return brandState satisfies never;
	}
}
