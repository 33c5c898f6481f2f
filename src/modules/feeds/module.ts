import type { Module } from "../../module.ts";

export const FEEDS: Module = { name: "feeds" };
