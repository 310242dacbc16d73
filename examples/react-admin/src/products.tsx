// Products: a list with filters and bulk actions, a page with what refers to it, and a form with files.

import Inventory2 from "@mui/icons-material/Inventory2";
import {
  AutocompleteInput,
  BulkDeleteButton,
  BulkUpdateButton,
  Create,
  DataTable,
  DateField,
  FileField,
  FileInput,
  ImageField,
  ImageInput,
  List,
  NumberField,
  NumberInput,
  ReferenceField,
  ReferenceInput,
  ReferenceManyField,
  required,
  Show,
  SimpleForm,
  SimpleShowLayout,
  TextArrayField,
  TextArrayInput,
  TextField,
  TextInput,
} from "react-admin";
import { SafeEdit } from "./conflict.tsx";

const filters = [
  <TextInput key="q" source="q" label="Search" alwaysOn />,
  <TextInput key="name" source="name_icontains" label="Name contains" />,
  <NumberInput key="from" source="price_gte" label="Price from" />,
  <NumberInput key="to" source="price_lte" label="Price up to" />,
  <ReferenceInput key="supplier" source="supplier" reference="suppliers">
    <AutocompleteInput filterToQuery={(text) => ({ name_icontains: text })} />
  </ReferenceInput>,
];

const ManyButtons = () => (
  <>
    <BulkUpdateButton label="Sold out" data={{ stock: 0 }} mutationMode="pessimistic" />
    <BulkDeleteButton mutationMode="pessimistic" />
  </>
);

const ProductList = () => (
  <List filters={filters} sort={{ field: "name", order: "ASC" }} perPage={10}>
    <DataTable bulkActionButtons={<ManyButtons />}>
      <DataTable.Col source="photo" disableSort>
        <ImageField
          source="photo.src"
          title="photo.title"
          sx={{ "& img": { maxHeight: 40, m: 0 } }}
        />
      </DataTable.Col>
      <DataTable.Col source="sku" />
      <DataTable.Col source="name" />
      <DataTable.NumberCol source="price" />
      <DataTable.NumberCol source="stock" />
      <DataTable.Col source="supplier">
        <ReferenceField source="supplier" reference="suppliers" />
      </DataTable.Col>
    </DataTable>
  </List>
);

const ProductShow = () => (
  <Show>
    <SimpleShowLayout>
      <ImageField source="photo.src" title="photo.title" label="Photo" />
      <TextField source="name" />
      <NumberField source="price" />
      <NumberField source="stock" />
      <TextArrayField source="tags" />
      <ReferenceField source="supplier" reference="suppliers" />
      <FileField source="papers" src="src" title="title" />
      <ReferenceManyField
        label="Sold in"
        reference="orders"
        target="lines[].product"
        sort={{ field: "placed", order: "DESC" }}
      >
        <DataTable bulkActionButtons={false}>
          <DataTable.Col source="placed" field={DateField} />
          <DataTable.Col source="customer">
            <ReferenceField source="customer" reference="customers" />
          </DataTable.Col>
          <DataTable.NumberCol source="total" />
        </DataTable>
      </ReferenceManyField>
    </SimpleShowLayout>
  </Show>
);

const inputs = (
  <>
    <TextInput source="sku" validate={required()} />
    <TextInput source="name" validate={required()} />
    <NumberInput source="price" validate={required()} />
    <NumberInput source="stock" />
    <TextArrayInput source="tags" />
    <ReferenceInput source="supplier" reference="suppliers">
      <AutocompleteInput filterToQuery={(text) => ({ name_icontains: text })} />
    </ReferenceInput>
    <ImageInput source="photo" accept={{ "image/*": [] }}>
      <ImageField source="src" title="title" />
    </ImageInput>
    <FileInput source="papers" multiple>
      <FileField source="src" title="title" />
    </FileInput>
  </>
);

const ProductCreate = () => (
  <Create redirect="show">
    <SimpleForm>{inputs}</SimpleForm>
  </Create>
);

const ProductEdit = () => <SafeEdit>{inputs}</SafeEdit>;

export const products = {
  ...{ icon: Inventory2, recordRepresentation: "name" },
  ...{ list: ProductList, show: ProductShow, create: ProductCreate, edit: ProductEdit },
};
