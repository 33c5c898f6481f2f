import type { SiteModule } from "../../site-module.ts";
import { EventStreams } from "./api/event-streams.ts";
import { createGetEvents } from "./api/get-events.ts";
import { createPostEventAnswers } from "./api/post-event-answers.ts";

export const FEEDS_SITE: SiteModule = {
	signedCalls: [
		{
			method: "GET",
			path: "/v1/events",
			create: (deps) => createGetEvents(deps, new EventStreams(deps)),
		},
		{ method: "POST", path: "/v1/events/answers", create: createPostEventAnswers },
	],
};
