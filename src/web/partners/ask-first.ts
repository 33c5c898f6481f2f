import type { Area } from "../document.ts";
import { answerPage, type WebContext } from "../page.ts";
import * as ui from "../ui.ts";
import { html } from "../ui.ts";

/** Asked before something ends, on a page at the address of the form that it leads to. */
export function askFirst(
	c: WebContext,
	question: {
		active: Area;
		title: string;
		points: readonly string[];
		/** Of the button. */
		label: string;
		tone?: "danger" | "primary";
		hidden?: Readonly<Record<string, string>>;
		cancelHref: string;
	},
): Promise<Response> {
	const { active, title, points, label, tone = "danger", hidden = {}, cancelHref } = question;
	const cancel = ui.linkButton({ label: "Cancel", tone: "quiet", href: cancelHref });
	return answerPage(c, {
		title,
		active,
		body: html`${ui.pageHeader({ title })}${ui.section({
			id: "question",
			title: "What happens",
			body: ui.padded(
				html`<ul class="points">${points.map((point) => html`<li>${point}</li>`)}</ul>`,
				ui.postForm({
					action: c.req.path,
					className: "row",
					hidden,
					body: [ui.button({ label, tone }), cancel],
				}),
			),
		})}`,
	});
}
