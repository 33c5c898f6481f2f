import type { Dialect } from "../dialect.ts";

export function noticeTables({ generatedId, updatedOften, shortLivedRows }: Dialect): readonly string[] {
	return [
		// Each row is a notice to the people of a programme or partner about its callbacks.
		`create table notices (
			id ${generatedId},
			public_id text not null unique,
			receiver_id bigint not null,
			kind text not null,
			opened_at_ms bigint not null,
			told_at_ms bigint,
			ended_at_ms bigint,
			ended_by text,
			failed_attempts integer not null,
			failures integer not null,
			mailed_failures integer not null,
			last_failed_at_ms bigint,
			last_delivery_id bigint,
			last_result text,
			last_verdict text,
			last_http_status integer,
			last_detail text,
			mail_due_at_ms bigint,
			mailed_at_ms bigint,
			mailed_to text,
			mail_refused_to text
		) ${updatedOften}`,
		// This unique index allows only one open notice of failing callbacks per receiver, even if several engines open
		// one at once. It serves findOpenNotice, which every page of a programme needs.
		`create unique index notices_open on notices (receiver_id)
			where kind = 'callbacks_failing' and ended_at_ms is null`,
		// This index serves listNotices and findNoticesToMail.
		"create index notices_by_receiver on notices (receiver_id, id)",
		// This index serves tellWatched and forgetWatched.
		"create index notices_watched on notices (opened_at_ms) where told_at_ms is null",
		// This index serves findReceiverToMail and countUnmailedNotices.
		"create index notices_to_mail on notices (mail_due_at_ms) where mail_due_at_ms is not null",

		// Each row is unmailed news of one kind, for one person, about a partner's sales of one day.
		`create table sale_news (
			person_id bigint not null,
			day text not null,
			partner_id bigint not null,
			programme_id bigint not null,
			kind text not null,
			reason text not null,
			currency text not null,
			sales integer not null,
			commission text not null,
			named text not null,
			due_at_ms bigint not null,
			primary key (person_id, day, partner_id, programme_id, kind, reason, currency)
		) ${shortLivedRows}`,
		// This index serves findReaderToMail.
		"create index sale_news_by_due on sale_news (due_at_ms)",

		// Each row is a mail that is to be sent, was sent or was given up.
		`create table mail_queue (
			id ${generatedId},
			to_address text not null,
			topic text,
			subject text not null,
			sealed_text text,
			created_at_ms bigint not null,
			due_at_ms bigint,
			tries integer not null default 0,
			good_until_ms bigint not null,
			sent_at_ms bigint,
			given_up_at_ms bigint,
			refusal text
		)`,
		// This index serves the mail dispatcher, which takes the mail that is due next, and the count of waiting mails.
		"create index mail_queue_due on mail_queue (due_at_ms) where due_at_ms is not null",
		// This index serves listMailsOn.
		"create index mail_queue_by_topic on mail_queue (topic, created_at_ms)",
		// This index serves listUnsentMails.
		"create index mail_queue_given_up on mail_queue (given_up_at_ms) where given_up_at_ms is not null",
		// This index serves pruneMails.
		"create index mail_queue_by_age on mail_queue (created_at_ms)",

		// Each row is an audit entry about which somebody must still be mailed.
		`create table changes_to_tell (
			audit_entry_id bigint not null,
			topic text not null,
			person_id bigint,
			programme_id bigint,
			due_at_ms bigint not null,
			primary key (audit_entry_id, topic)
		)`,
		// This index serves findDueTopic.
		"create index changes_to_tell_due on changes_to_tell (due_at_ms)",
		// This index serves takeChanges and postponeTopic.
		"create index changes_to_tell_by_topic on changes_to_tell (topic)",
	];
}
