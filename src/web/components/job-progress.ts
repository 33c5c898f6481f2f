// A page about work that goes on in the background. It moves on by itself: htmx asks again every second, and without
// scripts the browser reloads.

import { type Content, type Html, html, padded, section } from "../ui.ts";

const JOB_ID = "job";

/** All of the page, while there is more to come. */
export function movingJob(href: string, content: Content): Html {
	return html`<div id="${JOB_ID}" class="stack" hx-get="${href}" hx-trigger="every 1s" hx-select="#${JOB_ID}" hx-target="this" hx-swap="outerHTML">${content}</div>`;
}

/** The same when it has come to rest. */
export function restingJob(content: Content): Html {
	return html`<div id="${JOB_ID}" class="stack">${content}</div>`;
}

export function progressSection(progress: {
	title: string;
	done: number;
	total: number;
	/** "500 of 1 000 rows checked". */
	text: string;
	/** What can be done meanwhile. */
	actions?: Content;
}): Html {
	const { title, done, total, text, actions = null } = progress;
	return section({
		id: "progress",
		title,
		hint: "You can leave this page: the work goes on, and the result stays here.",
		body: padded(
			html`<progress class="bar-share" max="${total}" value="${done}" aria-label="${text}">${text}</progress>`,
			html`<p class="soft" role="status">${text}</p>`,
			html`<noscript><meta http-equiv="refresh" content="2"></noscript>`,
			actions,
		),
	});
}
