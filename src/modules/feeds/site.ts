import { after } from "#core/domain/addition.ts";
import type { SiteModule } from "../../site-module.ts";
import { STREAM_EVENTS } from "./api/get-events.ts";
import { REPORT_ANSWERS } from "./api/post-event-answers.ts";

export const FEEDS_SITE: SiteModule = {
	signedCalls: [STREAM_EVENTS, REPORT_ANSWERS],
	tags: [
		after("Decisions", {
			name: "Events",
			description: "A stream of the status changes, for developers.",
		}),
	],
};
