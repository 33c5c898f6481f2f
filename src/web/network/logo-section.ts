// The logo as it is now, and the forms to choose another or none.

import { html } from "hono/html";
import type { Fault } from "../../domain/fault.ts";
import { IMAGE_TYPES } from "../../domain/image.ts";
import type { NetworkFace } from "../../store/known-network.ts";
import { padded, section } from "../components/blocks.ts";
import { button, fileField, postForm } from "../components/forms.ts";
import type { Html } from "../html.ts";
import { logoImage } from "../masthead.ts";
import { LOGO_PATH, REMOVE_LOGO_PATH } from "../paths.ts";

export function logoSection({ logo }: Pick<NetworkFace, "logo">, csrf: Html, fault: Fault | undefined): Html {
	const file = fileField({
		name: "file",
		label: logo === null ? "Picture" : "Another picture",
		accept: IMAGE_TYPES.join(","),
		hint: "PNG, JPEG or WebP, at most 256 KB, 16 to 1,024 pixels wide and high. It is shown 28 pixels high; one that is at least twice as wide as high takes the place of the name.",
		error: fault?.detail,
		isRequired: true,
	});
	const present =
		logo === null
			? html`<p class="small soft">No logo yet: Ringback's mark is shown beside the network's name.</p>`
			: html`<div class="row">${logoImage(logo)}<span class="small soft">${logo.width} × ${logo.height} pixels</span>${postForm(
					{
						action: REMOVE_LOGO_PATH,
						csrf,
						className: "row",
						body: button({ label: "Remove", isSmall: true, ariaLabel: "Remove the logo" }),
					},
				)}</div>`;
	return section({
		id: "logo",
		title: "Logo",
		body: padded(
			present,
			postForm({
				action: LOGO_PATH,
				csrf,
				isUpload: true,
				body: [file, html`<div class="row">${button({ label: "Upload" })}</div>`],
			}),
		),
	});
}
