// What the demo shop sells: kinds of things with the shapes of their photos, in several materials.

import type { Colour, Shape } from "./demo-photo.ts";

interface Kind {
  readonly name: string;
  readonly category: string;
  /** In cents. */
  readonly price: number;
  readonly about: string;
  readonly shapes: readonly Shape[];
}

interface Material {
  readonly name: string;
  readonly colour: Colour;
  readonly factor: number;
}

const box = (
  ...[x, y, width, height, round = 0.1, light = 1]: readonly [
    ...[number, number, number, number],
    number?,
    number?,
  ]
): Shape => ({ x, y, width, height, round, light });

export const kinds: readonly Kind[] = [
  {
    ...{ name: "Mug", category: "kitchen", price: 1_490 },
    about: "Holds a third of a litre, and keeps it warm while you read.",
    shapes: [
      { x: 0.7, y: 0.56, width: 0.22, height: 0.24, round: 1, line: 0.045 },
      box(0.48, 0.56, 0.36, 0.42, 0.2),
      box(0.48, 0.36, 0.34, 0.05, 1, 0.6),
    ],
  },
  {
    ...{ name: "Plate", category: "kitchen", price: 1_190 },
    about: "Flat, wide and hard to break.",
    shapes: [box(0.5, 0.55, 0.6, 0.6, 1), box(0.5, 0.55, 0.42, 0.42, 1, 0.9)],
  },
  {
    ...{ name: "Bottle", category: "kitchen", price: 2_290 },
    about: "For water at a desk or on the road. It does not leak.",
    shapes: [
      box(0.5, 0.3, 0.1, 0.3, 0.3, 0.9),
      box(0.5, 0.6, 0.24, 0.46, 0.5),
      box(0.5, 0.16, 0.12, 0.06, 0.4, 0.6),
    ],
  },
  {
    ...{ name: "Vase", category: "living", price: 3_490 },
    about: "Stands firm, with flowers and without.",
    shapes: [box(0.5, 0.36, 0.14, 0.36, 0.2), box(0.5, 0.62, 0.34, 0.38, 1)],
  },
  {
    ...{ name: "Lamp", category: "living", price: 7_900 },
    about: "Light for reading, warm and without flicker.",
    shapes: [
      box(0.5, 0.58, 0.03, 0.46, 0.2, 0.6),
      box(0.5, 0.32, 0.46, 0.24, 0.35),
      box(0.5, 0.82, 0.28, 0.05, 1, 0.7),
    ],
  },
  {
    ...{ name: "Clock", category: "living", price: 4_900 },
    about: "Silent hands, and numbers for those who want them.",
    shapes: [
      box(0.5, 0.48, 0.6, 0.6, 1),
      box(0.5, 0.48, 0.52, 0.52, 1, 1.5),
      box(0.5, 0.4, 0.02, 0.18, 0.5, 0.4),
      box(0.57, 0.48, 0.14, 0.02, 0.5, 0.4),
    ],
  },
  {
    ...{ name: "Pillow", category: "living", price: 2_990 },
    about: "Filled with wool. The cover can be washed.",
    shapes: [box(0.5, 0.56, 0.62, 0.46, 0.5), box(0.5, 0.56, 0.5, 0.34, 0.5, 1.08)],
  },
  {
    ...{ name: "Chair", category: "furniture", price: 14_900 },
    about: "Made for long dinners. Four of them can be stacked.",
    shapes: [
      box(0.38, 0.4, 0.05, 0.5, 0.3, 0.9),
      box(0.48, 0.3, 0.24, 0.3, 0.2),
      box(0.52, 0.6, 0.36, 0.06, 0.4),
      box(0.37, 0.75, 0.04, 0.26, 0.2, 0.8),
      box(0.67, 0.75, 0.04, 0.26, 0.2, 0.8),
    ],
  },
  {
    ...{ name: "Table", category: "furniture", price: 39_900 },
    about: "Seats six, or one with many papers.",
    shapes: [
      box(0.5, 0.46, 0.9, 0.07, 0.3),
      box(0.14, 0.68, 0.06, 0.4, 0.1, 0.8),
      box(0.86, 0.68, 0.06, 0.4, 0.1, 0.8),
    ],
  },
  {
    ...{ name: "Shelf", category: "furniture", price: 18_900 },
    about: "For eighty books. It stands by itself or hangs on a wall.",
    shapes: [
      { x: 0.5, y: 0.5, width: 0.6, height: 0.74, round: 0.04, line: 0.04 },
      box(0.5, 0.38, 0.6, 0.03, 0, 0.9),
      box(0.5, 0.62, 0.6, 0.03, 0, 0.9),
      box(0.34, 0.3, 0.08, 0.14, 0.1, 0.6),
      box(0.6, 0.54, 0.2, 0.12, 0.2, 0.7),
    ],
  },
  {
    ...{ name: "Basket", category: "storage", price: 2_490 },
    about: "For toys, towels or wood. Two handles.",
    shapes: [
      { x: 0.5, y: 0.42, width: 0.44, height: 0.44, round: 1, line: 0.03 },
      box(0.5, 0.64, 0.6, 0.38, 0.3),
      box(0.5, 0.52, 0.6, 0.03, 0, 0.8),
      box(0.5, 0.66, 0.6, 0.03, 0, 0.85),
    ],
  },
  {
    ...{ name: "Box", category: "storage", price: 1_990 },
    about: "With a lid. Six of them fill a metre of shelf.",
    shapes: [box(0.5, 0.62, 0.56, 0.38, 0.06), box(0.5, 0.42, 0.6, 0.1, 0.2, 0.85)],
  },
];

export const materials: readonly Material[] = [
  { name: "Oak", colour: [196, 152, 98], factor: 1.2 },
  { name: "Walnut", colour: [116, 78, 54], factor: 1.4 },
  { name: "White", colour: [232, 228, 218], factor: 1 },
  { name: "Sea green", colour: [72, 138, 124], factor: 1.05 },
  { name: "Terracotta", colour: [196, 98, 70], factor: 1.1 },
];

export const walls: readonly Colour[] = [
  [222, 229, 226],
  [231, 222, 210],
  [212, 220, 230],
  [234, 232, 226],
];

export const firstNames =
  "Ada Alan Amina Anna Bruno Carla Chen Chiara Daniel David Elena Emil Fatima Felix Grace Hana Hugo Ines Ivan Jamal Jana Jonas Julia Kai Katja Kofi Lara Leo Lina Luca Maja Marco Maria Mateo Mei Mia Milan Nadia Nils Noor Olga Omar Paul Petra Priya Rosa Ruth Samir Sara Sofia Tariq Tim Uma Viktor Wanda Yara Yuki Zoe".split(
    " ",
  );
export const lastNames =
  "Abbas Adler Almeida Bauer Becker Berg Blanc Braun Castro Chen Costa Cruz Dahl Diaz Dubois Eriksen Fischer Fontana Garcia Haas Hansen Hopper Ito Jansen Kaya Keller Khan Kim Klein Koch Kovac Kumar Lang Larsen Lehmann Lopez Lovelace Marin Martin Mensah Meyer Moreau Müller Nguyen Novak Okafor Olsen Patel Peters Popov Ricci Rossi Sato Schmidt Silva Singh Tanaka Turing Vogel Wagner Weber Wolf Yilmaz Zhang".split(
    " ",
  );
export const places: readonly (readonly [city: string, country: string])[] = [
  ["Berlin", "DE"],
  ["Hamburg", "DE"],
  ["Köln", "DE"],
  ["München", "DE"],
  ["Wien", "AT"],
  ["Graz", "AT"],
  ["Zürich", "CH"],
  ["Genève", "CH"],
  ["Paris", "FR"],
  ["Lyon", "FR"],
  ["Amsterdam", "NL"],
  ["Utrecht", "NL"],
  ["Bruxelles", "BE"],
  ["København", "DK"],
  ["Milano", "IT"],
  ["Roma", "IT"],
  ["Madrid", "ES"],
  ["Lisboa", "PT"],
];
