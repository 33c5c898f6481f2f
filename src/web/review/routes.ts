// Review: the conversions of all programmes, for staff alone.

import { REVIEW_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import { rejectSelected, showReview } from "./review-page.ts";

export const REVIEW_ROUTES: readonly Route[] = [
	{ method: "GET", path: REVIEW_PATH, access: "staff", answer: showReview },
	{ method: "POST", path: `${REVIEW_PATH}/reject`, access: "staff", answer: rejectSelected },
];
